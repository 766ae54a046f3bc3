"""What `sfstat serve` takes over a large folder, and over one that grows for a long time.

    go run ./eval/archives -keep FOLDER -windows 100000 -steps 10   # 5,000 runs, Parquet
    python fleet.py folder FOLDER --sfstat bin/sfstat          # start, pages, 50 clients, one more run, memory
    python fleet.py grow FOLDER --sfstat bin/sfstat            # windows appended to runs in a new FOLDER as fast as they are served: seconds to the event, memory
    python fleet.py hour FOLDER --sfstat bin/sfstat            # the same by the clock, with pages asked for: memory, minute by minute
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, Iterator, List, Tuple


class Served:
    """A server over a folder, its events and its memory."""

    def __init__(self, sfstat: str, folder: str, every: str = "1s") -> None:
        self.begun = time.time()
        self.process = subprocess.Popen([sfstat, "serve", folder, "--listen", "127.0.0.1:0", "--every", every], stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.address = ""
        while not self.address:
            line = self.process.stderr.readline()
            if not line:
                raise SystemExit("sfstat serve ended: exit code %d" % self.process.wait())
            found = re.search(r"http\S+", line)
            self.address = found.group() if found else ""
        threading.Thread(target=lambda: [None for _ in self.process.stderr or ()], daemon=True).start()
        self.event = time.time()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            with urllib.request.urlopen(self.address + "events") as stream:
                for line in stream:
                    if line.startswith(b"data:"):
                        self.event = time.time()
        except OSError:
            pass

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(self.address + path, timeout=600) as answer:
            return bytes(answer.read())

    def metric(self, name: str) -> int:
        return int(re.search(rb"^%s (\d+)$" % name.encode(), self.get("metrics"), re.M).group(1))  # type: ignore[union-attr]

    def until(self, true: Callable[[], bool], each: float = 0.02) -> float:
        """Seconds until something is true."""
        since = time.time()
        while not true():
            time.sleep(each)
        return time.time() - since

    def memory(self) -> Dict[str, int]:
        """Resident, now and the most, MB."""
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as f:
            text = f.read()
        return {name: int(re.search(name + r":\s+(\d+)", text).group(1)) // 1024 for name in ("VmRSS", "VmHWM")}  # type: ignore[union-attr]

    def processor(self) -> float:
        """Seconds of processor time so far."""
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()


def timed(what: Callable[[], object]) -> float:
    since = time.time()
    what()
    return time.time() - since


def folder(sfstat: str, path: str) -> Iterator[Tuple[str, object]]:
    s = Served(sfstat, path)
    try:
        yield "first index, s", s.until(lambda: s.metric("sfstat_runs") > 0) and time.time() - s.begun
        s.until(lambda: s.metric("sfstat_unread") == 0 and s.metric("sfstat_runs") > 0, 0.2)
        yield "all is read, s", time.time() - s.begun
        yield "runs, windows", (s.metric("sfstat_runs"), s.metric("sfstat_windows"))
        yield "memory, MB", s.memory()
        keys = re.findall(r'href="/run/([^"]+)"', s.get("").decode())
        for name in ("page/" + keys[0], "api/run/" + keys[0], "", "metrics"):
            yield "%s first, again, s" % (name or "index"), [round(timed(lambda: s.get(name)), 3) for _ in range(2)]
        paths = [p for i in range(50) for p in ("", "page/" + keys[i % 10], "api/run/" + keys[i % 10], "metrics")]
        for turn in ("50 clients", "again"):
            with concurrent.futures.ThreadPoolExecutor(50) as pool:
                since = time.time()
                took = list(pool.map(lambda p: timed(lambda: s.get(p)), paths))
            yield turn + ": answers, s, slowest s", (len(took), round(time.time() - since, 2), round(max(took), 2))
        spent, runs = s.processor(), s.metric("sfstat_runs")
        added = os.path.join(path, "added.jsonl")
        simulated(sfstat, added, "added", ["--windows", "20", "--steps", "10"])
        written = time.time()
        s.until(lambda: s.metric("sfstat_runs") > runs)
        yield "one more run until the event, s", round(time.time() - written, 2)
        with open(added, "a", encoding="utf-8") as f:
            f.write(renumbered([p for p in packets(added) if p["window"] == 0], 20))
        windows = s.metric("sfstat_windows")
        yield "one more window until the event, s", round(s.until(lambda: s.metric("sfstat_windows") > windows), 2)
        yield "processor time of both, s", round(s.processor() - spent, 2)
        os.remove(added)
        s.until(lambda: s.metric("sfstat_runs") == runs)
        yield "memory at the end, MB", s.memory()
    finally:
        s.end()


def simulated(sfstat: str, path: str, run: str, flags: List[str]) -> None:
    subprocess.run([sfstat, "simulate", "--run", run, "-o", path, "-q", *flags], check=True)


def packets(path: str) -> List[Dict[str, Any]]:
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def renumbered(window: List[Dict[str, Any]], number: int) -> str:
    """A window that was the first of its run, under another number."""
    out: List[str] = []
    for packet in window:
        again = dict(packet, first_step=packet["first_step"] + number * len(packet["durations_ns"]), window=number)
        again.pop("side", None)
        out.append(json.dumps(again, separators=(",", ":")) + "\n")
    return "".join(out)


class Growing:
    """Runs in a new folder to which windows are appended."""

    def __init__(self, sfstat: str, path: str, runs: int, steps: int) -> None:
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        self.files = [os.path.join(path, "job-%d.jsonl" % i) for i in range(runs)]
        self.windows = 1
        for i, name in enumerate(self.files):
            simulated(sfstat, name, "job-%d" % i, ["--windows", "1", "--steps", str(steps), "--fault", ["data", "nofault", "forward_host"][i % 3], "--seed", str(i)])
        self.first = [packets(name) for name in self.files]

    def window(self, run: int, number: int) -> str:
        return renumbered(self.first[run], number)

    def append(self) -> int:
        """Appends a window to each run; returns how many there are now."""
        for run, name in enumerate(self.files):
            with open(name, "a", encoding="utf-8") as f:
                f.write(self.window(run, self.windows))
        self.windows += 1
        return self.windows * len(self.files)


ROW = "%9s %9s %8s %8s %12s %12s %12s"
HEAD = ROW % ("minutes", "windows", "RSS MB", "most MB", "event s", "slowest s", "processor s")


def row(s: Served, windows: int, took: List[float]) -> str:
    memory, last = s.memory(), sorted(took)
    return ROW % ("%.1f" % ((time.time() - s.begun) / 60), windows, memory["VmRSS"], memory["VmHWM"], "%.3f" % last[len(last) // 2], "%.3f" % last[-1], "%.1f" % s.processor())


def grow(sfstat: str, path: str, windows: int, runs: int, steps: int) -> Iterator[Tuple[str, object]]:
    g = Growing(sfstat, path, runs, steps)
    s = Served(sfstat, path, "20ms")
    try:
        s.until(lambda: s.metric("sfstat_windows") == runs)
        yield "", HEAD
        took: List[float] = []
        while g.windows * runs < windows:
            total = g.append()
            took.append(s.until(lambda: s.metric("sfstat_windows") == total, 0.002))
            if total % (windows // 10) < runs:
                yield "", row(s, total, took[-50:])
        os.rename(g.files[0], g.files[0] + ".1")  # rotated: both are of one run now
        with open(g.files[0], "w", encoding="utf-8") as f:
            f.write(g.window(0, g.windows))
        yield "rotated, s", round(s.until(lambda: s.metric("sfstat_windows") == total + 1), 2)
        os.truncate(g.files[1], os.path.getsize(g.files[1]) // g.windows // 2)
        yield "truncated, s", round(s.until(lambda: s.metric("sfstat_windows") < total), 2)
        os.remove(g.files[2])
        yield "deleted, s", round(s.until(lambda: s.metric("sfstat_runs") < runs), 2)
        yield "index", len(s.get(""))
        yield "page of the rotated run", len(s.get("page/" + urllib.parse.quote("job-0")))
        yield "memory at the end, MB", s.memory()
    finally:
        s.end()


def hour(sfstat: str, path: str, minutes: float, pause: float, runs: int, steps: int) -> Iterator[Tuple[str, object]]:
    g = Growing(sfstat, path, runs, steps)
    s = Served(sfstat, path)
    try:
        yield "", HEAD
        took: List[float] = []
        asked = shown = 0
        while time.time() - s.begun < 60 * minutes:
            since = time.time()
            total = g.append()
            took.append(s.until(lambda: s.metric("sfstat_windows") == total, 0.05))
            if time.time() - s.begun >= 60 * (shown + 1):
                shown += 1
                yield "", row(s, total, took)
                took = []
                for name in ("", "page/job-%d" % (asked % runs), "api/run/job-%d" % (asked % runs)):
                    s.get(name)
                asked += 1
            time.sleep(max(0.0, pause - (time.time() - since)))
    finally:
        s.end()


def main() -> None:
    parser = argparse.ArgumentParser(description="What sfstat serve takes over a large folder, and over one that grows.")
    parser.add_argument("action", choices=("folder", "grow", "hour"))
    parser.add_argument("path")
    parser.add_argument("--sfstat", default="sfstat")
    parser.add_argument("--windows", type=int, default=20000, help="grow: of all runs")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20, help="of a window")
    parser.add_argument("--minutes", type=float, default=60, help="hour: how long")
    parser.add_argument("--pause", type=float, default=1, help="hour: seconds from one window of each run to the next")
    o = parser.parse_args()
    if o.action == "folder":
        rows = folder(o.sfstat, o.path)
    elif o.action == "grow":
        rows = grow(o.sfstat, o.path, o.windows, o.runs, o.steps)
    else:
        rows = hour(o.sfstat, o.path, o.minutes, o.pause, o.runs, o.steps)
    for what, value in rows:
        print(": ".join(str(x) for x in (what, round(value, 2) if isinstance(value, float) else value) if x != ""), flush=True)


if __name__ == "__main__":
    main()
