"""How soon a rank that becomes slow is named, and its line; what that costs the job.

    python live.py name -o FOLDER --sfstat bin/sfstat   # seconds until watch and serve name the rank, and the line
    python live.py cost -o FOLDER --sfstat bin/sfstat   # step times without and with all of it, in pairs

Real DDP jobs of four processes over Gloo, steps of 75 ms and windows of 20;
rank 2 loses 60 ms from step 100 on, in data or in backward. The recorder's own
trigger starts the capture (router), or a capture plan of `sfstat watch` (plan).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
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


def start_job(folder: str, *arguments: str) -> "subprocess.Popen[bytes]":
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    environment = dict(os.environ, PYTHONPATH=RECORDER, OMP_NUM_THREADS="1")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4", "--master-port", "0", "--standalone", os.path.join(HERE, "job.py"), "--out", folder]
    return subprocess.Popen(command + list(arguments), env=environment, stderr=subprocess.DEVNULL)


class Clock:
    """When each thing was seen first."""

    def __init__(self) -> None:
        self.at: Dict[str, float] = {}

    def see(self, what: str, verdict: Dict[str, Any]) -> None:
        suspects = [s for r in verdict.get("runs", []) for s in r["suspects"][:1]]
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


def named(sfstat: str, folder: str, stage: str, trigger: str) -> Dict[str, float]:
    """One job; seconds from the first slow step."""
    clock, done = Clock(), threading.Event()
    os.makedirs(folder, exist_ok=True)
    job = start_job(folder, "--stage", stage, "--after", "100", "--steps", "400", "--trigger", trigger)
    os.makedirs(os.path.join(folder, "job"), exist_ok=True)
    watch_command = [sfstat, "watch", os.path.join(folder, "job"), "--every", "500ms", "--exec", "cat >> %s; echo >> %s" % ((os.path.join(folder, "seen"),) * 2)]
    if trigger == "plan":
        watch_command.append("--capture")
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


def steps(folder: str) -> List[float]:
    with open(os.path.join(folder, "steps.json"), encoding="utf-8") as f:
        return [float(s) for s in json.load(f)][20:]  # the first are slow


def one_cost(sfstat: str, folder: str, everything: bool) -> float:
    """The mean step of a job without a fault, ms."""
    job = start_job(folder, "--steps", "220", *(["--trigger", "router"] if everything else ["--no-recorder"]))
    beside: List["subprocess.Popen[bytes]"] = []
    if everything:
        os.makedirs(os.path.join(folder, "job"), exist_ok=True)
        for command in (["watch"], ["serve", "--listen", "127.0.0.1:0"]):
            beside.append(subprocess.Popen([sfstat, command[0], os.path.join(folder, "job"), *command[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    try:
        job.wait(timeout=300)
    finally:
        for process in beside:
            process.terminate()
            process.wait()
    return 1e3 * statistics.fmean(steps(folder))


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


def cost_line(differences: List[float]) -> str:
    low, high, coverage = median_interval(differences)
    return "median %+.2f %% of %d pairs, %.1f %% interval %+.2f %% to %+.2f %%" % (statistics.median(differences), len(differences), 100 * coverage, low, high)


def main(arguments: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser(description="How soon a rank that becomes slow is named, and what that costs.")
    parser.add_argument("action", choices=("name", "cost"))
    parser.add_argument("-o", dest="out", required=True)
    parser.add_argument("--sfstat", default="sfstat")
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args(arguments)
    if options.action == "name":
        print("| slow in | capture by | watch: rank | serve: rank | watch: line | serve: line |\n|---|---|---|---|---|---|")
        for stage in ("data", "backward"):
            for trigger in ("router", "plan"):
                rows = [named(options.sfstat, os.path.join(options.out, "%s-%s-%d" % (stage, trigger, i)), stage, trigger) for i in range(options.times)]
                cells = [sorted(r[what] for r in rows if what in r) for what in ("watch rank", "serve rank", "watch line", "serve line")]
                print("| %s | %s | %s |" % (stage, trigger, " | ".join(
                    "%s s%s" % (", ".join("%.1f" % s for s in c), "" if len(c) == options.times else " (%d of %d)" % (len(c), options.times)) for c in cells)), flush=True)
        return
    pairs = []
    for i in range(options.times):
        order = (False, True) if i % 2 == 0 else (True, False)
        got = {e: one_cost(options.sfstat, os.path.join(options.out, "cost"), e) for e in order}
        pairs.append((got[False], got[True]))
        print("%.2f ms a step without, %.2f ms with: %+.2f %%" % (got[False], got[True], 100 * (got[True] / got[False] - 1)), flush=True)
    print(cost_line([100 * (b / a - 1) for a, b in pairs]))


if __name__ == "__main__":
    main()
