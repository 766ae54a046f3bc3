"""How soon a rank that becomes slow is named, and its line; what that costs the job.

    python live.py name -o FOLDER --sfstat bin/sfstat   # seconds until watch and serve name the rank, and the line
    python live.py cost -o FOLDER --sfstat bin/sfstat   # a step without and with all of it, in pairs within one job

Real DDP jobs of four processes over Gloo, steps of 75 ms and windows of 20;
rank 2 loses 60 ms from step 100 on, in data or in backward. The recorder's
trigger starts the capture.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from typing import Any, Dict, List, Optional, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDER = os.path.join(HERE, "..", "..", "recorder")
RANK = 2


def line_of_fault() -> int:
    with open(os.path.join(HERE, "job.py"), encoding="utf-8") as f:
        return 1 + next(i for i, text in enumerate(f) if "time.sleep(self._options.ms" in text)


def fresh(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "job"))


def start_job(folder: str, *arguments: str) -> "subprocess.Popen[bytes]":
    environment = dict(os.environ, PYTHONPATH=RECORDER, OMP_NUM_THREADS="1")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4", "--master-port", "0", "--standalone", os.path.join(HERE, "job.py"), "--out", folder]
    return subprocess.Popen(command + list(arguments), env=environment, stderr=subprocess.DEVNULL)


class Clock:
    """When each thing was seen first."""

    def __init__(self) -> None:
        self.at: Dict[str, float] = {}

    def see(self, what: str, verdict: Dict[str, Any]) -> None:
        suspects = [s for r in [verdict, *verdict.get("other_runs", [])] for s in r["findings"][:1]]
        for s in suspects:
            if s["rank"] == RANK and not s["below_min_gain"]:
                self.at.setdefault(what + " rank", time.time())
                source = s.get("source_line") or {}
                if source.get("file", "").endswith("job.py") and source.get("line") == line_of_fault():
                    self.at.setdefault(what + " line", time.time())


def follow_serve(address: str, clock: Clock, done: threading.Event) -> None:
    while not done.is_set():
        try:
            with urllib.request.urlopen(address + "api", timeout=10) as answer:
                clock.see("serve", json.load(answer))
        except (OSError, ValueError):
            pass
        done.wait(0.1)


def named(sfstat: str, folder: str, stage: str) -> Dict[str, float]:
    """One job; seconds from the first slow step."""
    clock, done = Clock(), threading.Event()
    fresh(folder)
    job = start_job(folder, "--stage", stage, "--after", "100", "--steps", "400", "--trigger")
    watch_command = [sfstat, "watch", os.path.join(folder, "job"), "--every", "500ms", "--exec", "cat >> %s; echo >> %s" % ((os.path.join(folder, "seen"),) * 2)]
    watch = subprocess.Popen(watch_command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    serve = subprocess.Popen([sfstat, "serve", os.path.join(folder, "job"), "--every", "500ms", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    assert serve.stderr is not None
    address = ""
    while "http" not in address:
        address = serve.stderr.readline()
    threading.Thread(target=lambda: [None for _ in serve.stderr or ()], daemon=True).start()
    reader = threading.Thread(target=follow_serve, args=(address[address.index("http"):].strip(), clock, done), daemon=True)
    reader.start()
    while job.poll() is None:
        for verdict in verdicts(os.path.join(folder, "seen")):
            clock.see("watch", verdict)
        if len(clock.at) == 4:
            break
        time.sleep(0.1)
    try:
        job.wait(timeout=120)
    finally:
        done.set()
        for process in (watch, serve):
            process.terminate()
            process.wait()
        job.kill()
    with open(os.path.join(folder, "fault"), encoding="utf-8") as f:
        fault = float(f.read())
    return {what: at - fault for what, at in clock.at.items()}


def verdicts(path: str) -> List[Dict[str, Any]]:
    """The JSON documents that --exec appended, those that are complete."""
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return []
    out, at, decoder = [], 0, json.JSONDecoder()
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            document, at = decoder.raw_decode(text, at)
        except ValueError:
            break
        out.append(document)
    return out


BLOCK = 60  # steps: three windows
SETTLE = 10  # of them, which are left out


def costs(sfstat: str, folder: str, pairs: int) -> List[Dict[str, float]]:
    """Of one job without a fault, for every four blocks (without, with, with, without): by how much its steps
    take longer with the recorder, watch and serve. Medians of the steps of a block."""
    fresh(folder)
    beside = [subprocess.Popen([sfstat, *command, os.path.join(folder, "job")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
              for command in (["watch"], ["serve", "--listen", "127.0.0.1:0"])]
    job = start_job(folder, "--steps", str(BLOCK), "--blocks", str(4 * pairs), "--trigger", "--beside", ",".join(str(p.pid) for p in beside))
    try:
        job.wait(timeout=60 + 4 * pairs * BLOCK)
        if any(process.poll() is not None for process in beside):
            raise SystemExit("sfstat watch or serve ended before the job")
    finally:
        for process in beside:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait()
        job.kill()
    with open(os.path.join(folder, "blocks.json"), encoding="utf-8") as f:
        blocks = json.load(f)
    out = []
    for i in range(0, len(blocks), 4):
        took = {"captured": float(blocks[i + 3]["traces"] > blocks[i]["traces"])}
        for what in ("wall", "thread", "process"):
            median = [statistics.median(b[what][SETTLE:]) for b in blocks[i:i + 4]]
            mean = [statistics.fmean(b[what][SETTLE:]) for b in blocks[i:i + 4]]
            usual = mean if what == "process" else median  # what other threads do is not in every step
            took[what] = (usual[1] + usual[2] - usual[0] - usual[3]) / 2
            took[what + " without"] = (usual[0] + usual[3]) / 2
        out.append(took)
    return out


def median_interval(differences: List[float]) -> Tuple[float, float, float]:
    """The narrowest interval of two order statistics around the median that covers it
    with 95 % or more, by the signs of the differences (binomial, p = 1/2), and its
    coverage; of fewer than six pairs their range, which covers less."""
    ordered, n = sorted(differences), len(differences)
    below, k = 1 / 2**n, 0  # P(fewer than k + 1 of n differences lie below the median)
    while k + 1 < (n + 1) // 2 and 2 * (below + math.comb(n, k + 1) / 2**n) <= 0.05:
        k += 1
        below += math.comb(n, k) / 2**n
    return ordered[k], ordered[n - 1 - k], 1 - 2 * below


def cost_line(what: str, differences: List[float], unit: str) -> str:
    low, high, coverage = median_interval(differences)
    return "%s: median %+.2f %s of %d pairs, %.1f %% interval %+.2f to %+.2f %s" % (what, statistics.median(differences), unit, len(differences), 100 * coverage, low, high, unit)


def main(arguments: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser(description="How soon a rank that becomes slow is named, and what that costs.")
    parser.add_argument("action", choices=("name", "cost"))
    parser.add_argument("-o", dest="out", required=True)
    parser.add_argument("--sfstat", default="sfstat")
    parser.add_argument("--times", type=int, default=3, help="jobs of each kind; cost: pairs, 20 s each")
    options = parser.parse_args(arguments)
    if options.action == "name":
        print("| slow in | watch: rank | serve: rank | watch: line | serve: line |\n|---|---|---|---|---|")
        for stage in ("data", "backward"):
            rows = [named(options.sfstat, os.path.join(options.out, "%s-%d" % (stage, i)), stage) for i in range(options.times)]
            cells = [sorted(r[what] for r in rows if what in r) for what in ("watch rank", "serve rank", "watch line", "serve line")]
            print("| %s | %s |" % (stage, " | ".join(
                "%s s%s" % (", ".join("%.1f" % s for s in c), "" if len(c) == options.times else " (%d of %d)" % (len(c), options.times)) for c in cells)), flush=True)
        return
    pairs = costs(options.sfstat, os.path.join(options.out, "cost"), options.times)
    for p in pairs:
        parts = ["%s %.2f ms without, %+.3f ms with" % (name, 1e3 * p[what + " without"], 1e3 * p[what])
                 for what, name in (("wall", "a step"), ("thread", "its training thread"), ("process", "its process"))]
        print("; ".join(parts) + ("; ranks were profiled" if p["captured"] else ""), flush=True)
    for captured, name in ((0, "nobody is profiled"), (1, "ranks are profiled in some steps")):
        these = [p for p in pairs if p["captured"] == captured]
        if these:
            print(name + ":")
            print(cost_line("  a step", [100 * p["wall"] / p["wall without"] for p in these], "%"))
            print(cost_line("  processor time of the training thread", [1e3 * p["thread"] for p in these], "ms a step"))
            print(cost_line("  processor time of the process", [1e3 * p["process"] for p in these], "ms a step"))


if __name__ == "__main__":
    main()
