"""The shared test vector: two scripted jobs, the packets that the recorder
writes for them, and the windows that sfstat must read from these packets.

    python3 -m tests.vector FOLDER      (in recorder/) writes them anew

The windows are worked out from the script's own tables, never from what the
recorder wrote.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, List

from sfstat_recorder import BACKWARD, CALLBACKS, DATA, FORWARD, OPTIMIZER, STAGES, Identity, Recorder

from .support import Clock, Hub, HubGroup, ranks, spend

CHANNEL = "model.fwd_loss_cuda_event_ms"

# Job "plain": two ranks, five steps in windows of two. Window 0 is gathered;
# in window 1 the gathering fails; window 2 is not full. Rank 1 nests a span.
PLAIN_STEPS, PLAIN_WINDOW = 5, 2


def plain(stage: str, step: int, rank: int) -> int:
    """Nanoseconds in a stage, or between stages and steps."""
    return {
        DATA: 1_000_000 + 10 * step + rank,
        FORWARD: 20_000_000 + 1_000 * step + 100 * rank,
        BACKWARD: 3_000_000_000 - 7 * step * rank,
        CALLBACKS: 0 if step % 2 else 123,
        OPTIMIZER: 400_000 + step,
        "within": 50 + step,
        "between": 6 + rank,
    }[stage]


DEVICE_MS = {(0, 0): 0.1, (2, 0): 60.25, (4, 0): 1e-7, (0, 1): 123456.75, (2, 1): None, (4, 1): 0.0}

# Job "prefetch": one rank, two steps of two microsteps, that asks for each
# batch while it works on the one before.
WAITS = [11, 13, 17, 19, 23]
FORWARDS = [[1_000, 1_001], [1_002, 1_003]]
BACKWARDS = [[2_000, 2_001], [2_002, 2_003]]
OPTIMIZERS = [300, 301]


class Device:
    """Events whose times the script knows."""

    def __init__(self, rank: int) -> None:
        self._times = [ms for (step, of), ms in sorted(DEVICE_MS.items()) if of == rank]
        self._next = 0

    def begin(self) -> int:
        self._next += 1
        return self._next - 1

    def end(self, pair: int) -> None:
        return None

    def elapsed_ms(self, pair: int) -> Any:
        return self._times[pair]


def write(folder: str) -> None:
    """Runs both jobs and leaves their packets in the folder."""
    hub = Hub(2)
    ranks(2, lambda rank: _plain(folder, rank, hub.rank(rank)))
    _prefetch(folder)


def _plain(folder: str, rank: int, group: HubGroup) -> None:
    def fail(call: str) -> None:
        if group._calls == 3:
            raise TimeoutError("rank 1 did not come within 30 s")

    group.before = fail
    clock = Clock(1_000 * rank)
    who = Identity("plain", rank, 2, local_rank=0, host="node \u00e9%d" % rank, role={"dp": rank, "pp": 0})
    perf = Recorder(folder, who, window=PLAIN_WINDOW, first_step=0, group=group, events=Device(rank), clock=clock, queue=16, arrivals=False)
    assert perf._writer is not None
    perf._writer._patience = 0.0
    for step in range(PLAIN_STEPS):
        spend(perf, clock, DATA, plain(DATA, step, rank))
        with perf.step():
            with perf.stage(FORWARD), perf.cuda_event_sample(CHANNEL, 0.5):
                if step == 4 and rank == 1:
                    with perf.stage(BACKWARD):
                        pass
                clock.spend(plain(FORWARD, step, rank))
            clock.spend(plain("within", step, rank))
            spend(perf, clock, BACKWARD, plain(BACKWARD, step, rank))
            if step % 2 == 0:
                spend(perf, clock, CALLBACKS, plain(CALLBACKS, step, rank))
            spend(perf, clock, OPTIMIZER, plain(OPTIMIZER, step, rank))
        clock.spend(plain("between", step, rank))
    assert perf.close(timeout_s=30)


def _prefetch(folder: str) -> None:
    clock = Clock()

    def loader() -> Any:
        for ns in WAITS:
            clock.spend(ns)
            yield None

    perf = Recorder(folder, Identity("prefetch"), accumulation=2, first_step=70, clock=clock, arrivals=False)
    batches = iter(perf.batches(loader(), ahead=1))
    next(batches)
    for step in range(2):
        with perf.step():
            for micro in range(2):
                spend(perf, clock, FORWARD, FORWARDS[step][micro])
                next(batches)
                spend(perf, clock, BACKWARD, BACKWARDS[step][micro])
            spend(perf, clock, OPTIMIZER, OPTIMIZERS[step])
    assert perf.close()


def expected() -> List[Dict[str, Any]]:
    """The windows; durations by step, stage and rank, wall times by step and rank."""
    return [_plain_window(w) for w in range(3)] + [_prefetch_window()]


def _plain_window(index: int) -> Dict[str, Any]:
    steps = range(PLAIN_STEPS)[index * PLAIN_WINDOW:(index + 1) * PLAIN_WINDOW]
    notes = []
    if index == 1:
        notes = [{"kind": "gather_failed", "text": "the recorder could not gather the window on ranks 0-1"}] + [
            {"kind": "recorder", "text": "gathering ended here (TimeoutError): every rank writes its own file from here on"}]
    if index == 2:
        notes = [{"kind": "recorder", "text": "rank 1 left out 1 span: 1 inside another stage; the first: %s in %s in step 4" % (BACKWARD, FORWARD)}]
    return {
        "run": "plain", "window": index, "first_step": steps[0], "world_size": 2, "accumulation": 1, "stages": list(STAGES),
        "ranks": [{"id": r, "host": "node \u00e9%d" % r, "local_rank": 0, "role": {"dp": r, "pp": 0}} for r in range(2)],
        "durations_ns": [[[plain(s, t, r) for r in range(2)] for s in STAGES] for t in steps],
        "wall_ns": [[_plain_wall(t, r) for r in range(2)] for t in steps],
        "side": {CHANNEL: [
            {"step": t, "rank": r, "ms": DEVICE_MS[t, r], "ready": DEVICE_MS[t, r] is not None} for t in steps if t % 2 == 0 for r in range(2)]},
        "gather_failed": [0, 1] if index == 1 else [],
        "notes": notes,
    }


def _plain_wall(step: int, rank: int) -> int:
    """From the wait for the batch to the next step's; the last one's ends with it."""
    between = plain("between", step, rank) if step < PLAIN_STEPS - 1 else 0
    return sum(plain(s, step, rank) for s in STAGES) + plain("within", step, rank) + between


def _prefetch_window() -> Dict[str, Any]:
    rows = [[
        WAITS[2 * t], FORWARDS[t][0], BACKWARDS[t][0],
        WAITS[2 * t + 1], FORWARDS[t][1], BACKWARDS[t][1], 0, OPTIMIZERS[t],
    ] for t in range(2)]
    return {
        "run": "prefetch", "window": 0, "first_step": 70, "world_size": 1, "accumulation": 2,
        "stages": ["%s@%d" % (s, m) for m in range(2) for s in (DATA, FORWARD, BACKWARD)] + [CALLBACKS, OPTIMIZER],
        "ranks": [{"id": 0, "host": "", "local_rank": -1, "role": {}}],
        "durations_ns": [[[ns] for ns in row] for row in rows],
        "wall_ns": [[sum(row)] for row in rows],
        "side": {}, "gather_failed": [], "notes": [],
    }


def as_text(windows: List[Dict[str, Any]]) -> str:
    """A window per line."""
    return "[\n" + ",\n".join(json.dumps(w, ensure_ascii=False) for w in windows) + "\n]\n"


if __name__ == "__main__":
    write(sys.argv[1])
    with open(os.path.join(sys.argv[1], "windows.json"), "w", encoding="utf-8") as f:
        f.write(as_text(expected()))
