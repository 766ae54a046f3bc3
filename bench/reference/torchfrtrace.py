"""Beside torchfrtrace, PyTorch's own reader of Flight Recorder dumps.

    python bench/reference/torchfrtrace.py --sfstat bin/sfstat -o FOLDER kinds          # one dump for each of its errors
    python bench/reference/torchfrtrace.py --sfstat bin/sfstat -o FOLDER time 64 512    # ratio of times, one after the other

Dumps are of the form that NCCL's processes write, which torchfrtrace reads: a
few steps of collectives on every rank, the last of which goes wrong. Times are
processor seconds, user and system, of whole programs, at the median of three
alternating runs of each.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import pickle
import resource
import shutil
import statistics
import subprocess
import sys
from typing import Any, Callable, Dict, List, Tuple

Entry = Dict[str, Any]
EPOCH = 1_790_000_000_000_000_000


def entry(seq: int, name: str = "nccl:all_reduce", **other: Any) -> Entry:
    out: Entry = {
        "frames": [{"name": "work", "filename": "/job/train.py", "line": 66}], "record_id": seq - 1, "pg_id": 0, "process_group": ("0", "default_pg"),
        "collective_seq_id": seq, "p2p_seq_id": 0, "op_id": seq, "profiling_name": name, "time_created_ns": EPOCH + seq * 50_000_000,
        "input_sizes": [[1024]], "input_dtypes": ["Float"], "output_sizes": [[1024]], "output_dtypes": ["Float"], "state": "completed",
        "time_discovered_started_ns": None, "time_discovered_completed_ns": None, "retired": True, "timeout_ms": 600_000, "is_p2p": False,
    }
    out.update(other)
    return out


def write(folder: str, by_rank: List[List[Entry]]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    ranks = str(list(range(len(by_rank))))
    for rank, entries in enumerate(by_rank):
        dump = {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}},
                "pg_status": {"0": {"last_enqueued_collective": len(entries), "last_started_collective": -1, "last_completed_collective": -1}},
                "comm_lib_version": "", "entries": entries}
        with open(os.path.join(folder, "trace_%d" % rank), "wb") as file:
            pickle.dump(dump, file, protocol=2)


def job(ranks: int, steps: int) -> List[List[Entry]]:
    return [[entry(seq) for seq in range(1, steps + 1)] for _ in range(ranks)]


def last(change: Callable[[int, Entry], None]) -> List[List[Entry]]:
    """Four ranks, the last call of which a function changes."""
    by_rank = job(4, 6)
    for rank, entries in enumerate(by_rank):
        entries[-1].update(state="scheduled", retired=False)
        change(rank, entries[-1])
    return by_rank


def only(rank: int, **other: Any) -> Callable[[int, Entry], None]:
    return lambda r, e: e.update(other) if r == rank else None


def all_of(**other: Any) -> Callable[[int, Entry], None]:
    return lambda _, e: e.update(copy.deepcopy(other))


def missing() -> List[List[Entry]]:
    by_rank = last(lambda *_: None)
    del by_rank[3][-1]
    return by_rank


def messages() -> List[List[Entry]]:
    """A send of 1,024 elements that the receiver takes as 512, in a coalesced
    call, as NCCL records them."""
    by_rank = last(lambda *_: None)
    for rank, name, sizes in ((0, "nccl:send 0->1", [[1024]]), (1, "nccl:recv 1<-0", [[512]])):
        by_rank[rank].append(entry(7, name, is_p2p=True, p2p_seq_id=1, input_sizes=sizes, output_sizes=sizes, state="scheduled", retired=False))
    return by_rank


KINDS: Dict[str, Tuple[str, Callable[[], List[List[Entry]]]]] = {
    "missing rank": ("missing", missing),
    "COLLECTIVE_TYPE_MISMATCH": ("operation", lambda: last(only(2, profiling_name="nccl:broadcast"))),
    "SIZE_OR_SYNTAX_MISMATCH, between ranks": ("sizes", lambda: last(only(2, input_sizes=[[512]], output_sizes=[[512]]))),
    "SIZE_OR_SYNTAX_MISMATCH, all_reduce": ("input_and_output", lambda: last(all_of(output_sizes=[[512]]))),
    "SIZE_OR_SYNTAX_MISMATCH, all_gather": ("input_and_output", lambda: last(all_of(profiling_name="nccl:_all_gather_base", output_sizes=[[2048]]))),
    "SIZE_OR_SYNTAX_MISMATCH, reduce_scatter": ("input_and_output", lambda: last(all_of(profiling_name="nccl:_reduce_scatter_base", output_sizes=[[512]]))),
    "SIZE_OR_SYNTAX_MISMATCH, all_to_all": ("totals", lambda: last(lambda r, e: e.update(profiling_name="nccl:all_to_all", output_sizes=[[512 if r == 2 else 1024]]))),
    "SIZE_OR_SYNTAX_MISMATCH, send and receive": ("sizes", messages),
    "COLLECTIVE_STATE_MISMATCH": ("state", lambda: last(only(2, state="completed"))),
    "COLLECTIVE_DTYPE_MISMATCH, between ranks": ("types", lambda: last(only(2, input_dtypes=["Half"], output_dtypes=["Half"]))),
    "COLLECTIVE_DTYPE_MISMATCH, input and output": ("types", lambda: last(all_of(output_dtypes=["Half"]))),
    "none": ("", lambda: job(4, 6)),
}


def reference(folder: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "torch.distributed.flight_recorder.fr_trace", "-p", "trace_", folder], capture_output=True, text=True)


def ours(sfstat: str, folder: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sfstat, "hang", "--format", "json", folder], capture_output=True, text=True)


def kinds(sfstat: str, out: str) -> None:
    print("| its error | its output | sfstat hang |\n|---|---|---|")
    for name, (want, make) in KINDS.items():
        folder = os.path.join(out, name.lower().replace(" ", "_").replace(",", ""))
        write(folder, make())
        text = reference(folder)
        said = [line for line in (text.stdout + text.stderr).splitlines() if "Error type" in line or "Not all ranks" in line or "mismatch" in line or "Error:" in line]
        verdict = json.loads(ours(sfstat, folder).stdout)["jobs"][0]
        got = [m["difference"] for m in verdict["mismatches"]] + (["missing"] if verdict["blocked"] and verdict["blocked"][0]["missing"] else [])
        print("| %s | %s | %s%s |" % (name, "; ".join(said)[:160] or "nothing", ", ".join(got) or "nothing", "" if want in got or want == "" and not got else ", EXPECTED " + want))


def time(sfstat: str, out: str, sizes: List[int]) -> None:
    print("| ranks × entries | torchfrtrace | sfstat hang | ratio |\n|---|---|---|---|")
    for ranks in sizes:
        folder = os.path.join(out, "time-%d" % ranks)
        by_rank = job(ranks, 200)
        del by_rank[3][-1]
        write(folder, by_rank)
        took: Dict[str, List[float]] = {"reference": [], "ours": []}
        programs: Dict[str, Callable[[], object]] = {"reference": lambda: reference(folder), "ours": lambda: ours(sfstat, folder)}
        for _ in range(3):
            for name, run in programs.items():
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                run()
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                took[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        theirs, mine = statistics.median(took["reference"]), statistics.median(took["ours"])
        print("| %d × 200 | %.2f s | %.2f s | %.0f |" % (ranks, theirs, mine, theirs / mine))


def main() -> None:
    parser = argparse.ArgumentParser(description="Beside torchfrtrace, PyTorch's own reader of Flight Recorder dumps.")
    parser.add_argument("--sfstat", default="sfstat")
    parser.add_argument("-o", dest="out", required=True, help="folder of the dumps")
    parser.add_argument("action", choices=("kinds", "time"))
    parser.add_argument("ranks", nargs="*", type=int, default=[64, 512])
    options = parser.parse_args()
    if options.action == "kinds":
        kinds(options.sfstat, options.out)
    else:
        time(options.sfstat, options.out, options.ranks)


if __name__ == "__main__":
    main()
