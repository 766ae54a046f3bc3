"""How soon a rank that becomes slow is named, and its line.

    python live.py -o FOLDER --sfstat bin/sfstat   # seconds until watch and serve name the rank, and the line

Real DDP jobs of four processes over Gloo, steps of 75 ms and windows of 20;
rank 2 loses 60 ms from step 100 on, in data or in backward. The recorder's
trigger starts the capture.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from typing import Any, Dict, List, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDER = os.path.join(HERE, "..", "..", "recorder")
RANK = 2


def lines_of_fault() -> range:
    """Returns the lines from the function that strikes to the one that sleeps: any of its frames is right."""
    with open(os.path.join(HERE, "job.py"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    first = next(i for i, text in enumerate(lines) if "def strike" in text)
    return range(first + 1, 2 + next(i for i, text in enumerate(lines) if "time.sleep(self._options.ms" in text))


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
                if source.get("file", "").endswith("job.py") and source.get("line") in lines_of_fault():
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


def main(arguments: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser(description="How soon a rank that becomes slow is named.")
    parser.add_argument("-o", dest="out", required=True)
    parser.add_argument("--sfstat", default="sfstat")
    parser.add_argument("--times", type=int, default=3, help="jobs of each kind")
    options = parser.parse_args(arguments)
    print("| slow in | watch: rank | serve: rank | watch: line | serve: line |\n|---|---|---|---|---|")
    for stage in ("data", "backward"):
        rows = [named(options.sfstat, os.path.join(options.out, "%s-%d" % (stage, i)), stage) for i in range(options.times)]
        cells = [sorted(r[what] for r in rows if what in r) for what in ("watch rank", "serve rank", "watch line", "serve line")]
        print("| %s | %s |" % (stage, " | ".join(
            "%s s%s" % (", ".join("%.1f" % x for x in c), "" if len(c) == options.times else " (%d of %d)" % (len(c), options.times)) for c in cells)), flush=True)


if __name__ == "__main__":
    main()
