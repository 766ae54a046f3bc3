"""What profilers' traces of a campaign's runs cost, beside sfstat's packets, for
its Table 6 (docs/commands/campaign-report.md).

    pip install HolisticTraceAnalysis
    go build -o bin/sfstat ./cmd/sfstat
    python3 bench/reference/sources.py bin/sfstat CAMPAIGN [REDUCED]

Reads sources/RUN/{pytorch,nsight} of a finished campaign and writes
sources/costs.csv: bytes, processor time from traces to stages, and how much
longer a step of a run without a fault takes than in its twin that no profiler
looked at. HTA reads PyTorch's traces, and the stages that it finds go to
sources/RUN/hta.csv; without HTA there is none, which is said. Reports of Nsight
Systems are exported once more where nsys is installed: that counts as reading.
REDUCED is a folder for the stages alone of all sources, as kept in fixtures/.
"""

import csv
import glob
import importlib.util
import json
import logging
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile

WROTE = {"pytorch": "*.json.gz", "nsight": "*.nsys-rep"}  # what a profiler leaves


def processor_time(command):
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def to_stages(program, source, into):
    """Reduces what one recorder saw to durations by step, stage and rank; the
    processor time that takes."""
    return processor_time([program, "convert", source, "--timeline", "host", "-o", into, "--quiet"])


def export_time(folder):
    """Of nsys, which turns each report into the database that is read."""
    if shutil.which("nsys") is None:
        print("nsys is not installed: what Nsight's export takes is not counted", file=sys.stderr)
        return 0.0
    with tempfile.TemporaryDirectory() as scratch:
        reports = sorted(glob.glob(os.path.join(folder, WROTE["nsight"])))
        return sum(processor_time(["nsys", "export", "-t", "sqlite", "-o", os.path.join(scratch, "%d.sqlite" % i), r]) for i, r in enumerate(reports))


def by_hta(folder, into):
    """Stages as HTA's table of events has them, and the processor time of
    loading and reducing, without imports."""
    logging.disable(logging.CRITICAL)
    from hta.trace_analysis import TraceAnalysis

    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    files = dict(enumerate(sorted(glob.glob(os.path.join(folder, WROTE["pytorch"])))))
    begin = os.times()
    traces = TraceAnalysis(trace_files=files, trace_dir=folder).t
    names = traces.symbol_table.get_sym_table()
    step_of = {i: int(m.group(1)) for i, n in enumerate(names) if (m := re.match(r"ProfilerStep\s*#\s*(\d+)$", n))}
    stages = {i: n for i, n in enumerate(names) if re.fullmatch(r"(data|model|callbacks|optim)\.\w+", n)}
    order, rows = [], []
    for rank in files:
        events = traces.get_trace(rank).sort_values("ts")
        steps = [(e.ts, e.ts + e.dur, step_of[e.name]) for e in events[events["name"].isin(list(step_of))].itertuples()]
        ranges = [(e.ts, e.dur, stages[e.name]) for e in events[events["name"].isin(list(stages))].itertuples()]
        for start, end, number in steps:
            took = {}
            for ts, dur, name in ranges:
                if start <= ts < end:
                    took[name] = took.get(name, 0) + dur
                    if name not in order:
                        order.append(name)
            rows.append((number, rank, took, end - start))
    with open(into, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["step", "rank", "world_size", *order, "wall_ns"])
        for number, rank, took, wall in sorted(rows, key=lambda r: r[:2]):
            values = [round(1000 * took.get(name, 0)) for name in order]  # HTA has microseconds
            out.writerow([number, rank, len(files), *values, round(1000 * wall)])
    end = os.times()
    return sum(end[:4]) - sum(begin[:4])


def in_own_process(queue, *arguments):
    try:
        queue.put(by_hta(*arguments))
    except Exception as e:
        queue.put(e)


def hta(folder, into):
    queue = multiprocessing.get_context("spawn").SimpleQueue()
    process = multiprocessing.get_context("spawn").Process(target=in_own_process, args=(queue, folder, into))
    process.start()
    result = queue.get()
    process.join()
    if isinstance(result, Exception):
        raise result
    return result


def step_time(program, packets):
    text = subprocess.run([program, "frontier", packets, "--cut", "step", "--format", "json", "-q"], check=True, capture_output=True).stdout
    windows = json.loads(text)["windows"]
    return sum(w["makespan_ns"] for w in windows) / sum(w["steps"] for w in windows)


def size(folder, pattern):
    return sum(os.path.getsize(p) for p in glob.glob(os.path.join(folder, pattern)))


def main(program, campaign, reduced=None):
    with open(os.path.join(campaign, "truth.csv"), newline="") as file:
        truth = {row["run"]: row for row in csv.DictReader(file)}
    sources = os.path.join(campaign, "sources")
    packets = lambda run: os.path.join(campaign, "packets", run)  # noqa: E731
    like = lambda run: (truth[run]["ranks"], truth[run]["seed"])  # noqa: E731
    healthy = [run for run, row in truth.items() if row["family"] == "nofault"]
    plain = {like(run): step_time(program, packets(run)) for run in healthy if not os.path.isdir(os.path.join(sources, run))}
    with_hta = importlib.util.find_spec("hta") is not None
    if not with_hta:
        print("HTA is not run: pip install HolisticTraceAnalysis", file=sys.stderr)
    rows = []
    for run in sorted(r for r in truth if os.path.isdir(os.path.join(sources, r))):
        into = os.path.join(reduced or tempfile.mkdtemp(), run)
        os.makedirs(os.path.join(into, "packets"), exist_ok=True)
        to_stages(program, packets(run), os.path.join(into, "packets", "packets.parquet"))
        rows.append((run, "sfstat recorder", size(packets(run), "*.jsonl*"), "", ""))
        cost = step_time(program, packets(run)) / plain[like(run)] - 1 if run in healthy and like(run) in plain else None
        cost = "" if cost is None else "%.4f" % cost
        for name in sorted(WROTE):
            folder = os.path.join(sources, run, name)
            if not os.path.isdir(folder):
                continue
            seconds = to_stages(program, folder, os.path.join(into, name + ".parquet"))
            if name == "nsight":
                seconds += export_time(folder)
            rows.append((run, name, size(folder, WROTE[name]), "%.3f" % seconds, cost))
            if name == "pytorch" and with_hta:
                table = os.path.join(sources, run, "hta.csv")
                seconds = hta(folder, table)
                to_stages(program, table, os.path.join(into, "hta.parquet"))
                rows.append((run, "hta", size(folder, WROTE[name]), "%.3f" % seconds, cost))
    for folder in [sources] + ([reduced] if reduced else []):
        with open(os.path.join(folder, "costs.csv"), "w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["run", "source", "artifact_bytes", "post_processing_s", "no_fault_overhead"])
            out.writerows(rows)
    if reduced:
        shutil.copy(os.path.join(campaign, "truth.csv"), os.path.join(reduced, "truth.csv"))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
