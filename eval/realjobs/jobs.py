"""Real PyTorch jobs with hidden slow ranks, recorded.

    python jobs.py run -o FOLDER     # all jobs, one after the other; what is there is kept
    go run ./eval/accuracy score -jobs FOLDER -sfstat bin/sfstat -o jobs.csv     # how right the verdicts on them are
    python jobs.py pauses -o FOLDER  # how long captures hold up the training thread, by framework
    python jobs.py overhead -o FOLDER  # what recording costs the training thread, by framework: FOLDER/FRAMEWORK.csv for sfstat overhead --pairs

The plan is 60 jobs with one or two slow ranks and 16 without, of four kinds
(DistributedDataParallel, FSDP2's fully_shard, the Trainer of Transformers,
Lightning), and 250 of loops as people write them (styles.py), 2 to 8 processes over Gloo, the delay in data, forward, backward
(before the first bucket or between buckets), a callback or the optimizer, in
every step or in every third, slept or computed. Of the
first, half record themselves by the recorder's API; the others run under
`python -m sfstat_recorder`. The plan of a job
that ended well is in its folder, as "done".

Processes are forked from this one, which has imported PyTorch, and have the
environment that torchrun gives: importing it eight times for each job would
take longer than the job.
"""

from __future__ import annotations

import argparse
import atexit
import dataclasses
import json
import os
import random
import runpy
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from styles import STYLES  # noqa: E402

RECORDER = os.path.join(HERE, "..", "..", "recorder")
FAMILIES = {
    "ddp": ("data", "forward", "backward", "backward_late", "callback", "optimizer"),
    "fsdp": ("data", "forward", "backward", "backward_late"),
    "trainer": ("data", "forward", "backward", "callback", "optimizer"),
    "lightning": ("data", "forward", "backward", "callback", "optimizer"),
}
TIMEOUT_S = 150.0
WARM, PAIRS = 20, 8
BATCHES = {"accumulated": 1 / 3, "hooked": 1 / 2, "replicated": 1 / 2, "compressed": 1 / 2}  # steps of a batch
CAPTURED = ("ddp", "fsdp", "accelerate", "trainer", "lightning")


@dataclasses.dataclass(frozen=True)
class Job:
    """One job and the truth about it."""

    name: str
    framework: str
    family: str  # "" without a fault
    ranks: int
    slow: "tuple[int, ...]"
    ms: float
    every: int
    compute: bool
    steps: int
    window: int
    recording: str  # api, module, capture (module with captures) or none
    seed: int
    learnt: bool = False  # every rank writes a digest of its losses and weights
    stage: str = ""  # where a recording shows the delay, "" for where frameworks do
    calls: float = 1.0  # how often a step passes the place of the delay
    grows: bool = False  # from nothing to twice the milliseconds

    def arguments(self, scratch: str) -> List[str]:
        out = ["--framework", self.framework, "--steps", str(self.steps), "--seed", str(self.seed), "--scratch", scratch, "--queue", os.path.join(os.path.dirname(scratch), "queue")]
        if self.family:
            out += ["--family", self.family, "--slow", ",".join(map(str, self.slow)), "--ms", str(self.ms), "--every", str(self.every)]
            out += ["--grows", str(self.calls * BATCHES.get(self.framework, 1.0))] if self.grows else []
        if self.learnt:
            out += ["--learnt", os.path.join(os.path.dirname(scratch), "learnt")]
        return out + (["--compute"] if self.compute else [])


def plan(seed: int) -> List[Job]:
    """Three jobs of each framework and family: a delay in every step, one in
    every third, and two slow ranks or a computing one; four of each without.
    """
    draw, out = random.Random(seed), []
    for framework, families in FAMILIES.items():
        for family in families:
            for kind in ("constant", "intermittent", "third"):
                two = kind == "third" and draw.random() < 0.5
                ranks = draw.choice((5, 6, 8) if two else (2, 3) if kind == "third" else (2, 3, 4, 4, 6, 8))
                slow = tuple(sorted(draw.sample(range(ranks), 2 if two else 1)))
                ms = draw.choice((40.0, 50.0, 60.0))
                if kind == "intermittent":
                    ms += 60.0
                if framework == "fsdp":  # whose gathers over Gloo are work for every core: a step of eight takes 0.8 s
                    ms *= 1.0 + 0.4 * two
                    ranks, slow = min(ranks, 5), tuple(sorted({rank % 5 for rank in slow})) if two else (slow[0] % min(ranks, 5),)
                out.append(Job(
                    name="%s-%s-%s-r%d" % (framework, family, "two" if two else "compute" if kind == "third" else kind, ranks),
                    framework=framework, family=family, ranks=ranks, slow=slow, ms=ms, every=3 if kind == "intermittent" else 1, compute=kind == "third" and not two, steps=60 if kind == "intermittent" else 45,
                    window=draw.choice((20, 100)), recording=draw.choice(("api", "module")), seed=draw.randrange(1 << 16)))
        for i in range(4):
            ranks = (2, 3, 4, 8)[i]
            out.append(Job(name="%s-healthy-r%d" % (framework, ranks), framework=framework, family="", ranks=ranks, slow=(), ms=0.0, every=1, compute=False,
                           steps=45, window=draw.choice((20, 100)), recording=("api", "module")[i % 2], seed=draw.randrange(1 << 16)))
    out += styled(draw)
    draw.shuffle(out)
    return out


def styled(draw: random.Random) -> List[Job]:
    """A job of each family of styles.py with a delay in every step, and of each style
    one with a delay in every third, one with a delay that grows and two without. Those
    which exchange every tenth step run once more, for six exchanges.
    """
    out = []
    for framework, style in STYLES.items():
        rare = draw.choice([family for family, (_, calls) in style.families.items() if calls >= 1])
        for family, kind in [*((family, "constant") for family in style.families), (rare, "intermittent"), (rare, "growing"), ("", "healthy"), ("", "again"),
                             *((family, "short") for family in style.families if framework == "local")]:
            stage, calls = style.families.get(family, ("", 1.0))
            ranks, every = draw.choice(style.ranks), 3 if kind == "intermittent" else 1
            slow = 0 if family in ("save", "outbox", "evaluation", "read", "score") else draw.randrange(ranks)  # what rank 0 alone does
            ms = draw.choice((40.0, 50.0, 60.0)) * (1.0 if every == 1 else 2.5) / calls
            out.append(Job(
                name="-".join(word for word in (framework, family, kind, "r%d" % ranks) if word), framework=framework, family=family, ranks=ranks, slow=(slow,) if family else (), ms=ms if family else 0.0,
                every=every, compute=framework == "computed", steps=120 if framework in ("local", "policy", *BATCHES) and kind != "short" else 60, window=draw.choice((20, 100)), recording="module", seed=draw.randrange(1 << 16),
                stage=stage, calls=calls, grows=kind == "growing"))
    return out


# Running.


def preload() -> None:
    """Imports what the jobs import."""
    import torch.distributed  # noqa: F401
    import torch.distributed.fsdp  # noqa: F401
    import torch.nn.parallel  # noqa: F401
    import torch.utils.data  # noqa: F401

    for module in ("transformers.trainer", "lightning"):
        try:
            __import__(module)
        except ImportError as error:
            print("without %s: %s" % (module, error), file=sys.stderr)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def launch(job: Job, folder: str) -> bool:
    """Runs a job to its end; whether all ranks ended well."""
    packets, port = os.path.join(folder, "packets"), free_port()
    children: Dict[int, int] = {}
    for rank in range(job.ranks):
        pid = os.fork()
        if pid == 0:
            _child(job, rank, port, folder, packets)
        children[pid] = rank
    deadline, good = time.monotonic() + TIMEOUT_S, True
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in children:
            rank = children.pop(pid)
            if status != 0:
                print("%s: rank %d ended with status %d" % (job.name, rank, status), file=sys.stderr)
                good, deadline = False, min(deadline, time.monotonic() + 5)
        elif time.monotonic() > deadline:
            good, deadline = False, time.monotonic() + 5
            for pid in children:
                os.kill(pid, signal.SIGKILL)
        else:
            time.sleep(0.05)
    return good


def _child(job: Job, rank: int, port: int, folder: str, packets: str) -> None:
    """One rank, in a process of its own; does not return."""
    log = os.open(os.path.join(folder, "rank%d.log" % rank), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(job.ranks), LOCAL_WORLD_SIZE=str(job.ranks), GROUP_RANK="0", NODE_RANK="0",
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TORCHELASTIC_RUN_ID="none", OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="")
    status = 0
    try:
        script, arguments = os.path.join(HERE, "job.py"), job.arguments(os.path.join(folder, "scratch"))
        if job.name == "overhead":
            _time_steps(os.path.join(folder, "steps%d.txt" % rank))
        if job.recording in ("module", "capture"):
            from sfstat_recorder.__main__ import main

            if job.recording == "capture":
                _time_captures(os.path.join(folder, "pauses%d.txt" % rank))
            main([*(["--capture"] if job.recording == "capture" else []), "-o", packets, "--window", str(job.window), script, *arguments])
        else:
            sys.argv = [script, *arguments, *(["--packets", packets, "--window", str(job.window)] if job.recording == "api" else [])]
            runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]  # as at the end of an interpreter
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _time_captures(path: str) -> None:
    """Writes how long the longest pauses are that captures cost the training
    thread, as milliseconds of the clock and of its processor time.
    """
    from sfstat_recorder.capture import Capture

    taken: List[Tuple[float, float]] = []

    def timed(call: Callable[[Any, int], None]) -> Callable[[Any, int], None]:
        def method(self: Any, index: int) -> None:
            wall, own = time.perf_counter(), time.thread_time()
            call(self, index)
            taken.append((time.perf_counter() - wall, time.thread_time() - own))

        return method

    def tell() -> None:
        with open(path, "w", encoding="utf-8") as file:
            for wall, own in sorted(taken, reverse=True)[:3]:
                print("%.1f %.1f" % (wall * 1e3, own * 1e3), file=file)

    Capture.step, Capture.stepped = timed(Capture.step), timed(Capture.stepped)
    atexit.register(tell)


def pauses(out: str, frameworks: Sequence[str]) -> "dict[str, tuple[float, float]]":
    """Of each framework a job in which a slow rank is captured: the longest pause
    of the training thread on any rank, milliseconds of the clock and of its
    processor time.
    """
    longest = {}
    for framework in frameworks:
        folder = os.path.join(out, framework)
        os.mkdir(folder)
        job = Job(framework, framework, "forward", 2, (1,), 60.0, 1, False, 100, 20, "capture", 7)
        if not launch(job, folder):
            raise SystemExit("%s did not end well: %s" % (framework, folder))
        seen = []
        for rank in range(job.ranks):
            with open(os.path.join(folder, "pauses%d.txt" % rank), encoding="utf-8") as file:
                seen += [tuple(map(float, line.split())) for line in file]
        traced = any(name.endswith(".trace.json.gz") for name in os.listdir(os.path.join(folder, "packets")))
        longest[framework] = (max(wall for wall, _ in seen), max(own for _, own in seen)) if traced else (0.0, 0.0)
    return longest


def _time_steps(path: str) -> None:
    """Writes the seconds of a step by the clock, and by the processor time of the
    training thread: from one optimizer's sleep of job.py to another's.
    """
    import torch

    taken: List[Tuple[float, float]] = []
    step = torch.optim.SGD.step

    def timed(self: Any, *given: Any, **named: Any) -> Any:
        taken.append((time.perf_counter(), time.thread_time()))
        return step(self, *given, **named)

    def tell() -> None:
        with open(path, "w", encoding="utf-8") as file:
            steps = len(taken) - 1 - WARM
            print("%.9f %.9f" % tuple((taken[-1][i] - taken[WARM][i]) / steps for i in range(2)), file=file)

    torch.optim.SGD.step = timed  # type: ignore[method-assign]
    atexit.register(tell)


def overhead(out: str, framework: str) -> str:
    """Launches a job of the framework with the recorder and without it, in pairs,
    and writes a pair a line: a step of the clock without it, and the same with
    what the training thread's processor time takes longer, which other work of
    the machine does not lengthen.
    """
    lines = ["pair,base_ns,with_ns,first"]
    for pair in range(PAIRS):
        got = {}
        for recording in ("none", "module") if pair % 2 == 0 else ("module", "none"):
            folder = os.path.join(out, "%s-%d-%s" % (framework, pair, recording))
            os.mkdir(folder)
            if not launch(Job("overhead", framework, "", 2, (), 0.0, 1, False, 120, 20, recording, 7), folder):
                raise SystemExit("%s did not end well: %s" % (framework, folder))
            seen = []
            for rank in range(2):
                with open(os.path.join(folder, "steps%d.txt" % rank), encoding="utf-8") as file:
                    seen.append(tuple(map(float, file.read().split())))
            got[recording] = [sum(column) / 2 for column in zip(*seen)]
        base = got["none"][0]
        lines.append("%d,%d,%d,%s" % (pair, base * 1e9, (base + got["module"][1] - got["none"][1]) * 1e9, "on" if pair % 2 else "off"))
    path = os.path.join(out, framework + ".csv")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path


def run(jobs: Sequence[Job], out: str) -> None:
    preload()
    for i, job in enumerate(jobs):
        folder = os.path.join(out, job.name)
        if os.path.exists(os.path.join(folder, "done")):
            continue
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        begin, good = time.monotonic(), False
        for _ in range(2):  # a port may be taken in between
            good = launch(job, folder)
            if good:
                break
            shutil.rmtree(os.path.join(folder, "packets"), ignore_errors=True)
        shutil.rmtree(os.path.join(folder, "scratch"), ignore_errors=True)
        if good:
            with open(os.path.join(folder, "done"), "w") as file:
                json.dump(dataclasses.asdict(job), file)
        print("%3d/%d %-38s %s %.0f s, load %.1f" % (i + 1, len(jobs), job.name, "ok" if good else "FAILED", time.monotonic() - begin, os.getloadavg()[0]), flush=True)


def main(arguments: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser(description="Real PyTorch jobs with hidden slow ranks, recorded.")
    parser.add_argument("action", choices=("plan", "run", "pauses", "overhead"))
    parser.add_argument("-o", dest="out", required=True, help="folder of the jobs")
    parser.add_argument("--seed", type=int, default=1, help="of the plan")
    parser.add_argument("--only", default="", help="jobs whose name contains this")
    options = parser.parse_args(arguments)
    jobs = [job for job in plan(options.seed) if options.only in job.name]
    sys.path.insert(0, RECORDER)
    if options.action == "run":
        os.nice(10)
        run(jobs, options.out)
    elif options.action == "overhead":
        preload()
        os.makedirs(options.out)
        for framework in CAPTURED:
            if options.only in framework:
                print(overhead(options.out, framework), flush=True)
    elif options.action == "pauses":
        preload()
        os.makedirs(options.out)
        for framework, (wall, own) in pauses(options.out, [name for name in CAPTURED if options.only in name]).items():
            print("%-10s longest pause %6.1f ms, processor time %6.1f ms" % (framework, wall, own) if wall else "%-10s nothing was captured" % framework)
    else:
        for job in jobs:
            print(job)


if __name__ == "__main__":
    main()
