"""What `sfstat serve` takes over a large folder, and over one that grows for a long time.

    go run ./bench/fleet -o FOLDER -windows 100000 -steps 10   # 5,000 runs, Parquet
    python fleet.py folder FOLDER --sfstat bin/sfstat          # start, pages, 50 clients, one more run, memory
    python fleet.py grow FOLDER --sfstat bin/sfstat            # 3,600 appends to a new FOLDER: seconds to the event, memory
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
from typing import Callable, Dict, Iterator, List, Tuple


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
        subprocess.run([sfstat, "simulate", "--windows", "20", "--steps", "10", "--run", "added", "-o", added, "-q"], check=True)
        written = time.time()
        s.until(lambda: s.metric("sfstat_runs") > runs)
        yield "one more run until the event, s", round(time.time() - written, 2)
        with open(added, "a", encoding="utf-8") as f:
            f.write(window(added, 20))
        windows = s.metric("sfstat_windows")
        yield "one more window until the event, s", round(s.until(lambda: s.metric("sfstat_windows") > windows), 2)
        yield "processor time of both, s", round(s.processor() - spent, 2)
        os.remove(added)
        s.until(lambda: s.metric("sfstat_runs") == runs)
        yield "memory at the end, MB", s.memory()
    finally:
        s.end()


def window(path: str, number: int) -> str:
    """The first window of packets, under another number."""
    lines: List[str] = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            packet = json.loads(line)
            if packet["window"] != 0:
                continue
            packet["first_step"] += number * len(packet["durations_ns"])
            packet["window"] = number
            packet.pop("side", None)
            lines.append(json.dumps(packet, separators=(",", ":")) + "\n")
    return "".join(lines)


def grow(sfstat: str, path: str, appends: int, runs: int) -> Iterator[Tuple[str, object]]:
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    files = [os.path.join(path, "job-%d.jsonl" % i) for i in range(runs)]
    for i, name in enumerate(files):
        subprocess.run([sfstat, "simulate", "--windows", "1", "--steps", "20", "--run", "job-%d" % i, "--fault", "data", "--seed", str(i), "-o", name, "-q"], check=True)
    s = Served(sfstat, path, "20ms")
    try:
        s.until(lambda: s.metric("sfstat_windows") == runs)
        took = []
        for n in range(1, appends + 1):
            name = files[n % runs]
            text = window(name, 1 + (n - 1) // runs)
            with open(name, "a", encoding="utf-8") as f:
                f.write(text)
            took.append(s.until(lambda: s.metric("sfstat_windows") == runs + n, 0.002))
            if n % (appends // 6) == 0:
                last = sorted(took[-50:])
                yield "after %d windows: memory MB, event of one more: median, slowest s, processor s" % n, (s.memory(), round(last[25], 3), round(last[-1], 3), round(s.processor(), 1))
        with open(files[0], encoding="utf-8") as f:
            first = "".join(f.readlines()[:8])
        os.rename(files[0], files[0] + ".1")  # rotated: both are of one run now
        with open(files[0], "w", encoding="utf-8") as f:
            f.write(window(files[0] + ".1", appends))
        yield "rotated, s", round(s.until(lambda: s.metric("sfstat_windows") == runs + appends + 1), 2)
        os.truncate(files[1], len(first) // 2)
        yield "truncated, s", round(s.until(lambda: s.metric("sfstat_windows") < runs + appends), 2)
        os.remove(files[2])
        yield "deleted, s", round(s.until(lambda: s.metric("sfstat_runs") < runs), 2)
        yield "index", len(s.get(""))
        yield "page of the rotated run", len(s.get("page/" + urllib.parse.quote("job-0")))
        yield "memory at the end, MB", s.memory()
    finally:
        s.end()


def main() -> None:
    parser = argparse.ArgumentParser(description="What sfstat serve takes over a large folder, and over one that grows.")
    parser.add_argument("action", choices=("folder", "grow"))
    parser.add_argument("path")
    parser.add_argument("--sfstat", default="sfstat")
    parser.add_argument("--appends", type=int, default=3600)
    parser.add_argument("--runs", type=int, default=4)
    o = parser.parse_args()
    for what, value in folder(o.sfstat, o.path) if o.action == "folder" else grow(o.sfstat, o.path, o.appends, o.runs):
        print("%s: %s" % (what, round(value, 2) if isinstance(value, float) else value), flush=True)


if __name__ == "__main__":
    main()
