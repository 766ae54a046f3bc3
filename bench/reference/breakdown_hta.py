"""Holds sfstat's breakdown against Holistic Trace Analysis, trace by trace.

    pip install HolisticTraceAnalysis
    go build -o bin/sfstat ./cmd/sfstat
    python3 bench/reference/breakdown_hta.py bin/sfstat TRACE...

Of each trace: idle, compute and non-compute time as get_temporal_breakdown has
them, and the covered part of communication as get_comm_comp_overlap has it, in
percent: by HTA, by HTA with HTA_DISABLE_NS_ROUNDING=1, by sfstat. HTA rounds
what begins up and what ends down to whole microseconds unless told not to. It
leaves out the last ProfilerStep where there are several, so the same steps are
asked of sfstat. A star marks what differs from HTA's unrounded by more than 1 %
of itself and by more than 0.02 points.
"""

import json
import logging
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # noqa: E402

NAMES = ["idle", "compute", "non-compute", "overlap"]
NONE = [""] * len(NAMES)


def by_hta(path, rounding):
    """HTA's percentages, and the step that it leaves out (None: none)."""
    os.environ["HTA_DISABLE_NS_ROUNDING"] = {"rounded": "0", "unrounded": "1"}[rounding]
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "trace.json.gz")
        shutil.copy(path, copy)
        analysis = TraceAnalysis(trace_files={0: copy}, trace_dir=folder)
        steps = {int(m.group(1)) for name in analysis.t.symbol_table.get_sym_table() if (m := re.match(r"ProfilerStep\s*#\s*(\d+)", name))}
        t = analysis.get_temporal_breakdown(visualize=False).iloc[0]
        values = [t["idle_time_pctg"], t["compute_time_pctg"], t["non_compute_time_pctg"]]
        try:
            values.append(analysis.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"])
        except Exception:  # without communication it divides by nothing
            values.append(math.nan)
    return [float(v) for v in values], max(steps) if len(steps) > 1 else None


def by_sfstat(program, path, left_out):
    command = [program, "diagnose", path, "--format", "json", "--quiet"]
    if left_out is not None:
        command += ["--steps", f"0-{left_out - 1}"]
    rank = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["devices"][0]
    idle, compute = 100 * rank["idle_share"], 100 * rank["compute_share"]
    exposed = rank["exposed_part_of_communication"]
    return [idle, compute, 100 - idle - compute, math.nan if exposed is None else 100 * (1 - exposed)]


def row(first, values, marks):
    return "| " + " | ".join([first] + [f"{v:.2f}{m}" if math.isfinite(v) else "–" for v, m in zip(values, marks)]) + " |"


def main(program, paths):
    print("| trace | " + " | ".join(NAMES) + " |\n|---|" + "---:|" * len(NAMES))
    far = 0
    for path in paths:
        name = os.path.basename(path).removesuffix(".gz").removesuffix(".json")
        try:
            rounded, left_out = by_hta(path, "rounded")
            unrounded, _ = by_hta(path, "unrounded")
        except Exception as e:
            print(f"| {name}: HTA ends with {type(e).__name__} |" + " – |" * len(NAMES))
            continue
        print(row(f"{name}: HTA", rounded, NONE) + "\n" + row("unrounded", unrounded, NONE))
        try:
            ours = by_sfstat(program, path, left_out)
        except subprocess.CalledProcessError as e:
            print(f"| sfstat: {e.stderr.decode().strip()} |" + " – |" * len(NAMES))
            continue
        marks = ["*" if math.isfinite(a) and abs(a - b) > max(0.02, 0.01 * a) else "" for a, b in zip(unrounded, ours)]
        far += "*" in marks
        print(row("sfstat" if left_out is None else f"sfstat, steps before {left_out}", ours, marks))
    print(f"\n{far} of {len(paths)} traces differ from the unrounded by more than 1 % and 0.02 points")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
