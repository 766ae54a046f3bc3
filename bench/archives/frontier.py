"""What DuckDB takes for an archive, as THREADS columns|frontier FOLDER ask.

The first line is the wall and the processor time of the query in seconds, without the
start of Python and DuckDB; the rows follow.
"""

import resource
import sys
import time

import duckdb

threads, what, folder = sys.argv[1:]
files = f"'{folder}/*.parquet'"
db = duckdb.connect(config={"threads": int(threads)})
db.sql("SET enable_progress_bar = false")  # it would be written among the rows
columns = [(name, kind) for name, kind, *_ in db.sql(f"DESCRIBE SELECT * FROM {files}").fetchall()]
stages = [name for name, kind in columns if kind == "BIGINT" and name not in ("window", "step", "rank", "epoch_ns", "wall_ns")]


def reading() -> str:
    """Something of every value, which is the least that reading them takes."""
    of = {"VARCHAR": 'sum(strlen("{}"))', "BOOLEAN": 'count_if("{}")'}
    return "SELECT " + ", ".join(of.get(kind, 'sum("{}")').format(name) for name, kind in columns) + f" FROM {files}"


def frontier() -> str:
    """The frontier and the last rank at the end of every stage in every step; of a window,
    the advances and the sums of the last ranks, which keep these in the plan. A prefix
    sum has its rank in the lower 16 bits, so that one max() finds both: with arg_max() it
    takes a quarter longer."""
    at = range(len(stages))
    prefixes = ", ".join(f'p{i - 1} + ("{name}" << 16) AS p{i}' if i else f'("{name}" << 16 | rank) AS p0' for i, name in enumerate(stages))
    advances = ", ".join(f"sum(f{i} - f{i - 1})" if i else "sum(f0)" for i in at)
    return f"""
        WITH prefixes AS (SELECT run, "window", step, {prefixes} FROM {files}),
        last AS (SELECT run, "window", step, {", ".join(f"max(p{i}) AS m{i}" for i in at)} FROM prefixes GROUP BY ALL),
        frontier AS (SELECT *, {", ".join(f"m{i} >> 16 AS f{i}, m{i} & 65535 AS r{i}" for i in at)} FROM last)
        SELECT run, "window", {advances}, {", ".join(f"sum(r{i})" for i in at)} FROM frontier GROUP BY run, "window"
        """


query = reading() if what == "columns" else frontier()
began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
rows = db.sql(query).fetchall()
took, use = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
print(took, use.ru_utime + use.ru_stime - used.ru_utime - used.ru_stime)
for row in rows:
    print(*row)
