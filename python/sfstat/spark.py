"""Findings of an archive on an Apache Spark cluster.

    from sfstat.spark import findings

    findings(spark, "/mnt/archive/runs").where("flagged").groupBy("host").count()

The driver ships the program to the executors, which need neither it nor this
package; every task analyses a shard of the paths with it, as ``sfstat batch
--shard`` does. A task that is lost with its executor is run again by Spark, and
its rows count once. The paths must lead to the same files on all machines.
"""

from __future__ import annotations

import os
from typing import Any, Iterator, Optional, Sequence, Tuple, Union

from . import program

# The columns of sfstat.findings/2, in order: name, type, whether it may be null.
COLUMNS = (
    ("folder", "string", False), ("file", "string", False), ("run", "string", False), ("windows", "long", False),
    ("first_step", "long", False), ("steps", "long", False), ("start_ns", "long", True), ("ranks", "long", False),
    ("hosts", "long", False), ("step_ns", "long", False), ("cut", "string", False), ("synchronise_in", "string", False),
    ("stages", "string", False), ("status", "string", False), ("confidence", "string", True), ("finding", "long", True),
    ("kind", "string", True), ("cause", "string", True), ("flagged", "boolean", False), ("rank", "long", True),
    ("local_rank", "long", True), ("host", "string", True), ("role", "string", True), ("stage", "string", True),
    ("group", "string", True), ("gain", "double", True), ("run_gain", "double", True), ("run_gain_together", "double", True), ("excess_ns", "long", True),
    ("explained_ns", "long", True), ("steps_struck", "long", True), ("steps_of", "long", True), ("first_struck", "long", True),
    ("last_struck", "long", True), ("pattern", "string", True),
    ("p", "double", True),
)

Path = Union[str, "os.PathLike[str]"]


def findings(spark: Any, paths: Union[Path, Sequence[Path]], *, shards: Optional[int] = None, binary: Optional[Path] = None,
             flags: Sequence[str] = ()) -> Any:
    """Returns a DataFrame with the rows of ``sfstat batch PATHS``, in no order.

    ``shards`` is the number of tasks, by default four for each core; ``flags`` are
    others of ``sfstat batch``. The frame is lazy: write it, or cache it, before
    several questions. A task fails with the line that the program wrote; inputs that
    it refuses beside good ones are lines in the log of the executor.
    """
    from pyspark import SparkFiles
    from pyspark.sql import types

    context = spark.sparkContext
    shipped = os.fspath(binary) if binary is not None else program.find()
    context.addFile(shipped)
    name = os.path.basename(shipped)
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    where = [os.fspath(p) for p in several]
    of = shards or 4 * context.defaultParallelism
    options = list(flags)
    columns = COLUMNS

    # What follows runs on executors: it is sent there by value, so that it must not
    # refer to anything of this module.
    def rows(shard: int) -> Iterator[Tuple[Any, ...]]:
        import json
        import subprocess
        import sys

        command = [SparkFiles.get(name), "batch", "-q", "-o", "-", "--threads", "1", "--shard", f"{shard}/{of}", *options, "--", *where]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace")
        said = done.stderr.strip()
        empty = not done.stdout and said.endswith("nothing in any input")
        if done.returncode != 0 and not empty:
            raise RuntimeError(said or f"{command[0]} ended with exit code {done.returncode}")
        if said and not empty:
            print(said, file=sys.stderr)
        for line in done.stdout.splitlines():
            row = json.loads(line)
            row["stages"] = row["stages"] if isinstance(row["stages"], str) else json.dumps(row["stages"], ensure_ascii=False, separators=(",", ":"))
            yield tuple(float(row[c]) if kind == "double" and row[c] is not None else row[c] for c, kind, _ in columns)

    kinds = {"string": types.StringType(), "long": types.LongType(), "double": types.DoubleType(), "boolean": types.BooleanType()}
    schema = types.StructType([types.StructField(column, kinds[kind], null) for column, kind, null in columns])
    return spark.createDataFrame(context.parallelize(range(1, of + 1), of).flatMap(rows), schema)
