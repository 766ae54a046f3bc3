"""What the recorder costs the training thread: python3 recorder/bench.py

python3 recorder/bench.py --intervals FILE measures instead what a step of 200
ms costs by the sampling interval, in per cent of it and by the processor time of
all threads, and writes it as sfstat campaign report reads it (KAIR's Figure 5).

python3 recorder/bench.py --pause FILE measures by how long the end of a window
holds the training thread of a rank up, over Gloo, by the number of processes that
are gathered (KAIR's Figure 6). It needs PyTorch.

python3 recorder/bench.py --arrivals PAIRS measures what arrivals add to a step of 200 ms
on the training threads of eight processes: pairs of blocks with and without, in turns.

python3 recorder/bench.py --accumulation PAIRS measures the throughput of eight processes whose steps
of 200 ms have four microsteps, with stages of each microstep in order over that with stages
summed (StageFrontier's E7): pairs of blocks, in turns.

Where PyTorch is installed, also what arrivals cost by the collectives in the
Flight Recorder's ring, all of it new: processor time of the writer's thread. A
training thread that wants the interpreter lock waits no longer than that.

The cost of a call is the processor time of a loop with it less that of the same
loop without, divided by the calls, at the median over repetitions. Processor
time of the training thread alone: other work on the machine is not in it, nor
is waiting for the interpreter lock while the writer encodes.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import statistics
import sys
import tempfile
import time
from typing import Callable, List

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from sfstat_recorder import BACKWARD, CALLBACKS, DATA, FORWARD, OPTIMIZER, Identity, Recorder  # noqa: E402

CALLS = 50_000
REPETITIONS = 15
STEPS, STEP_S = 100, 0.2
"""A window of a job with steps of 200 ms."""


class Nothing:
    """The same statement, with nothing in it."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def seconds(body: Callable[[int], object], calls: int) -> float:
    begin = time.thread_time()
    body(calls)
    return time.thread_time() - begin


def cost(name: str, body: Callable[[int], None], empty: Callable[[int], None], calls: int = CALLS) -> None:
    """Prints the nanoseconds of one call: median, and the middle half."""
    body(calls // 10)
    got: List[float] = []
    for _ in range(REPETITIONS):
        got.append((seconds(body, calls) - seconds(empty, calls)) / calls * 1e9)
    low, middle, high = statistics.quantiles(got, n=4)
    print("%-44s %8.0f ns   [%.0f, %.0f]" % (name, middle, low, high))


def main() -> None:
    if sys.argv[1:2] == ["--intervals"]:
        return measure_intervals(sys.argv[2])
    if sys.argv[1:2] == ["--pause"]:
        return measure_pause(sys.argv[2])
    if sys.argv[1:2] == ["--arrivals"]:
        return measure_pairs(int(sys.argv[2]))
    if sys.argv[1:2] == ["--accumulation"]:
        return measure_accumulation(int(sys.argv[2]))
    print("%s %s, %s, %d repetitions" % (platform.python_implementation(), platform.python_version(), platform.machine(), REPETITIONS))
    with tempfile.TemporaryDirectory() as folder:
        perf = Recorder(os.path.join(folder, "bench"), Identity("bench"), window=100, queue=10_000)
        measure(perf)
        perf.close()
    if importlib.util.find_spec("torch"):
        measure_arrivals()
    else:
        print("PyTorch is not installed: the cost of arrivals is not measured")


def measure(perf: Recorder) -> None:
    nothing = Nothing()

    def loop(calls: int) -> None:
        for _ in range(calls):
            pass

    def stages(calls: int) -> None:
        with perf.step():
            for _ in range(calls):
                with perf.stage(FORWARD):
                    pass

    def events(calls: int) -> None:
        with perf.step():
            for _ in range(calls):
                with perf.cuda_event_sample("model.fwd_loss_cuda_event_ms", 0.0):
                    pass

    def steps(calls: int) -> None:
        for _ in range(calls):
            with perf.step():
                pass

    def whole(calls: int) -> None:
        five_stages(perf, calls)

    def bare(calls: int) -> None:
        for _ in range(calls):
            with nothing:
                pass

    cost("an empty with statement, for comparison", bare, loop)
    cost("with perf.stage(name)", stages, loop)
    cost("with perf.cuda_event_sample, not sampled", events, loop)
    cost("with perf.step(), windows of 100 written", steps, loop, CALLS // 5)
    cost("a step with five stages, all in all", whole, loop, CALLS // 5)


def five_stages(perf: Recorder, steps: int) -> None:
    for _ in range(steps):
        with perf.stage(DATA):
            pass
        with perf.step():
            with perf.stage(FORWARD):
                pass
            with perf.stage(BACKWARD):
                pass
            with perf.stage(CALLBACKS):
                pass
            with perf.stage(OPTIMIZER):
                pass


def measure_intervals(file: str) -> None:
    """A recorder per interval; each repetition is a block of 3,200 steps and
    writes its windows within the time that is taken.
    """
    steps = 3200
    rows = ["series,interval_steps,value,lower,upper,n"]
    for every in (1, 2, 4, 8, 16, 32):
        got: List[float] = []
        for _ in range(REPETITIONS):
            with tempfile.TemporaryDirectory() as folder:
                begin = time.process_time()
                with Recorder(folder, Identity("bench"), window=100, every=every, queue=10_000, arrivals=False) as perf:
                    five_stages(perf, steps)
                got.append((time.process_time() - begin) / steps / STEP_S * 100)
        low, middle, high = statistics.quantiles(got, n=4)
        rows.append("processor time of all threads,%d,%.6f,%.6f,%.6f,%d" % (every, middle, low, high, len(got)))
        print("of %2d steps 1: %.5f %% of a step of %.0f ms [%.5f, %.5f]" % (every, middle, STEP_S * 1000, low, high))
    with open(file, "w", encoding="utf-8") as out:
        out.write("\n".join(rows) + "\n")


WINDOWS, WINDOW = 30, 20
STEP = 0.002
"""Windows of short steps, so that a measurement takes seconds."""


def measure_pause(file: str) -> None:
    """Jobs of 1 to 8 processes. The pause is the time that beginning a step takes
    where it closes a window, less that of other steps of the rank: medians over
    windows, then over ranks, with the middle half of ranks and windows.
    """
    import torch.multiprocessing as processes

    rows = ["series,workers,value,lower,upper,n"]
    for series, gathered in (("own files", False), ("gathered on rank 0", True)):
        for world in (1, 2, 4, 8):
            with tempfile.TemporaryDirectory() as folder:
                processes.spawn(one_rank, args=(world, gathered, folder), nprocs=world)
                got: List[float] = []
                for rank in range(world):
                    with open(os.path.join(folder, "%d.txt" % rank), encoding="utf-8") as f:
                        got += [float(line) for line in f]
            low, middle, high = (max(x, 1e-6) for x in statistics.quantiles(got, n=4))
            rows.append("%s,%d,%.6f,%.6f,%.6f,%d" % (series, world, middle, low, high, len(got)))
            print("%s, %2d processes: %.4f ms [%.4f, %.4f]" % (series, world, middle, low, high))
    with open(file, "w", encoding="utf-8") as out:
        out.write("\n".join(rows) + "\n")


def one_rank(rank: int, world: int, gathered: bool, folder: str) -> None:
    import torch.distributed as dist

    from sfstat_recorder import TorchGroup

    store = dist.FileStore(os.path.join(folder, "store"), world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    closing: List[float] = []
    others: List[float] = []
    identity = Identity("bench", rank, world)
    with Recorder(os.path.join(folder, "out"), identity, window=WINDOW, group=TorchGroup() if gathered else None, arrivals=False) as perf:
        for step in range(WINDOWS * WINDOW):
            begin = time.perf_counter_ns()
            perf.begin_step()
            took = time.perf_counter_ns() - begin
            (closing if step > 0 and step % WINDOW == 0 else others).append(took / 1e6)
            with perf.stage(FORWARD):
                time.sleep(STEP)
            perf.end_step()
    usual = statistics.median(others)
    with open(os.path.join(folder, "%d.txt" % rank), "w", encoding="utf-8") as out:
        out.writelines("%.6f\n" % (x - usual) for x in closing)
    dist.barrier()
    dist.destroy_process_group()


RANKS, BLOCK = 8, 25
"""Processes of a paired measurement, and steps of a block."""


def measure_pairs(pairs: int) -> None:
    """A step sleeps and enters a small all-reduce, so that processes do not compete for
    cores. The mean over ranks of each pair's difference is one observation; the bound
    is the upper end of the 95 % interval of their mean, by the normal distribution.
    """
    import torch.multiprocessing as processes

    with tempfile.TemporaryDirectory() as folder:
        processes.spawn(paired_rank, args=(pairs, folder), nprocs=RANKS)
        of: List[List[List[float]]] = []
        for rank in range(RANKS):
            with open(os.path.join(folder, "%d.txt" % rank), encoding="utf-8") as f:
                of.append([[float(x) for x in line.split()] for line in f])
    for k, name in enumerate(("processor time", "wall time")):
        got = [statistics.fmean(rows[pair][k] for rows in of) for pair in range(pairs)]
        mean = statistics.fmean(got)
        high = mean + 1.96 * statistics.stdev(got) / len(got) ** 0.5
        print("%-14s of a step: %+.1f us, at most %+.1f us, %.4f %% of %.0f ms (%d pairs of %d steps, %d processes)"
              % (name, mean * 1e6, high * 1e6, high / STEP_S * 100, STEP_S * 1e3, pairs, BLOCK, RANKS))


def paired_rank(rank: int, pairs: int, folder: str) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    os.environ.setdefault("TORCH_FR_BUFFER_SIZE", "2000")
    dist.init_process_group("gloo", store=dist.FileStore(os.path.join(folder, "store"), RANKS), rank=rank, world_size=RANKS)
    tensor = torch.ones(8)

    def block(name: str, arrivals: bool) -> List[float]:
        with Recorder(os.path.join(folder, name), Identity("bench", rank, RANKS), window=5, arrivals="auto" if arrivals else False) as perf:
            dist.barrier()
            cpu, wall = time.thread_time(), time.perf_counter()
            for _ in range(BLOCK):
                with perf.step():
                    with perf.stage(FORWARD):
                        time.sleep(STEP_S)
                        dist.all_reduce(tensor)
            return [(time.thread_time() - cpu) / BLOCK, (time.perf_counter() - wall) / BLOCK]

    with open(os.path.join(folder, "%d.txt" % rank), "w", encoding="utf-8") as out:
        block("warm", True)
        for pair in range(pairs):
            order = (True, False) if pair % 2 else (False, True)
            got = {on: block("%d-%d" % (pair, on), on) for on in order}
            out.write("%r %r\n" % (got[True][0] - got[False][0], got[True][1] - got[False][1]))
    dist.destroy_process_group()


MICROSTEPS = 4


def measure_accumulation(pairs: int) -> None:
    """A step sleeps in the stages of its microsteps and enters a small all-reduce in the last. A pair's ratio is that of
    the slowest rank's times; the interval of their mean is by the normal distribution.
    """
    import torch.multiprocessing as processes

    with tempfile.TemporaryDirectory() as folder:
        processes.spawn(accumulating_rank, args=(pairs, folder), nprocs=RANKS)
        of: List[List[List[float]]] = []
        for rank in range(RANKS):
            with open(os.path.join(folder, "%d.txt" % rank), encoding="utf-8") as f:
                of.append([[float(x) for x in line.split()] for line in f])
    got = [max(rows[pair][1] for rows in of) / max(rows[pair][0] for rows in of) for pair in range(pairs)]
    mean = statistics.fmean(got)
    half = 1.96 * statistics.stdev(got) / len(got) ** 0.5
    print("throughput with ordered over with summed stages: %.4f [%.4f, %.4f], pairs %.4f to %.4f (%d pairs of %d steps of %d microsteps, %d processes)"
          % (mean, mean - half, mean + half, min(got), max(got), pairs, BLOCK, MICROSTEPS, RANKS))


def accumulating_rank(rank: int, pairs: int, folder: str) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(os.path.join(folder, "store"), RANKS), rank=rank, world_size=RANKS)
    tensor = torch.ones(8)

    def block(name: str, ordered: bool) -> float:
        with Recorder(os.path.join(folder, name), Identity("bench", rank, RANKS), window=5, accumulation=MICROSTEPS, repeated=None if ordered else []) as perf:
            dist.barrier()
            begin = time.perf_counter()
            for _ in range(BLOCK):
                with perf.step():
                    for micro in range(MICROSTEPS):
                        with perf.stage(DATA):
                            pass
                        with perf.stage(FORWARD):
                            time.sleep(STEP_S / MICROSTEPS / 3)
                        with perf.stage(BACKWARD):
                            time.sleep(STEP_S / MICROSTEPS / 3 * 2)
                            if micro == MICROSTEPS - 1:
                                dist.all_reduce(tensor)
                    with perf.stage(OPTIMIZER):
                        pass
            return time.perf_counter() - begin

    with open(os.path.join(folder, "%d.txt" % rank), "w", encoding="utf-8") as out:
        block("warm", True)
        for pair in range(pairs):
            order = (True, False) if pair % 2 else (False, True)
            got = {ordered: block("%d-%d" % (pair, ordered), ordered) for ordered in order}
            out.write("%r %r\n" % (got[True], got[False]))
    dist.destroy_process_group()


def measure_arrivals() -> None:
    """Reads rings of one process in a group of one, over Gloo, as the writer's
    thread does at the end of a window.
    """
    import torch
    import torch.distributed as dist

    from sfstat_recorder.arrivals import BUDGET, FlightRecorder, Watcher, pack

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", TORCH_FR_BUFFER_SIZE="20000")
    dist.init_process_group("gloo", rank=0, world_size=1)
    ring = FlightRecorder.detect()
    if ring is None:
        print("this PyTorch has no ring over Gloo")
        return
    tensor, held = torch.ones(8), 0
    for size in (100, 500, 2000, 10_000):
        for _ in range(size - held):
            dist.all_reduce(tensor)
        held = size
        ring.read()
        dumps, reads, rests = [], [], []
        for _ in range(REPETITIONS):
            dumps.append(seconds(lambda _: ring._dump(), 1))
            reads.append(seconds(lambda _: ring.read(), 1))
            watcher = Watcher(lambda: ring, 5)
            watcher._read()
            rests.append(seconds(lambda _: pack(watcher._settled(None)), 1))  # type: ignore[arg-type]
        dump, read, rest = (statistics.median(x) for x in (dumps, reads, rests))
        every = max(STEPS * STEP_S, read / BUDGET)
        print("a ring of %5d entries: dump %6.2f ms, unpickled %6.2f ms (at most %.2f), stages and packet %6.2f ms; every %.0f s at most, %.3f %% of the time"
              % (size, 1e3 * dump, 1e3 * read, 1e3 * max(reads), 1e3 * rest, every, 100 * (read + rest) / every))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
