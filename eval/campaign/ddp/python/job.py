"""One rank of a real DDP job with a known fault.

    python job.py --spec spec.json --out PACKETS

runs the specification of a simulated run (docs/campaign.md), resolved by
sfstat, as a job of torch.distributed: one process for each rank, told its
place by RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, or by
Slurm's variables.

Real: processes, parameters, gradients, DDP's buckets and their all-reduce over
Gloo (or NCCL), no_sync in accumulation, barriers, the optimizer, the recorder,
and the noise of the machine. Emulated: the work of a stage, which is a sleep of
the length that the specification draws, in the stage that it belongs to; that
of forward and backward is divided over the layers, so that buckets are reduced
while earlier layers still sleep. Work on the device is a queue that drains
with time: forward fills it, backward waits for it, and the event channel reads
it through the recorder's own interface for devices. With --backend nccl, kernels
that spin on the GPU and CUDA events stand in their place.

Faults are further sleep of the hidden rank: in the work of the stage, in the
queue of the device (forward_device), or before the all-reduce of the last
bucket (backward_comm).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from typing import List, Optional

from sfstat_job.rounds import arms_of

_SLURM = {"RANK": "SLURM_PROCID", "WORLD_SIZE": "SLURM_NTASKS", "LOCAL_RANK": "SLURM_LOCALID"}


def main(arguments: Optional[List[str]] = None) -> None:
    options = _options(arguments)
    for name, slurm in _SLURM.items():
        if name not in os.environ and slurm in os.environ:
            os.environ[name] = os.environ[slurm]
    if os.environ.get("SFSTAT_HELD_BY_STDIN") == "1":
        end_with_launcher()
    require_torch()
    with open(options.spec, encoding="utf-8") as file:
        spec = json.load(file)
    from sfstat_job.run import run

    run(spec, options)


def _options(arguments: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="One rank of a real DDP job with a known fault.")
    parser.add_argument("--spec", required=True, help="resolved specification, JSON")
    parser.add_argument("--out", required=True, help="folder of the packets")
    parser.add_argument("--recording", choices=("cpu", "events", "off"), default="cpu",
                        help="wall times; device times of sampled steps besides; nothing")
    parser.add_argument("--group", choices=("files", "gather"), default="files", help="a file for each rank, or one that rank 0 writes")
    parser.add_argument("--backend", choices=("gloo", "nccl"), default="gloo", help="nccl needs a GPU for each rank of a machine")
    parser.add_argument("--arms", type=arms_of, default=(),
                        help="carry each window out under each of off, wall, events, sample, and write what a step takes to rounds.csv")
    parser.add_argument("--realtime", action="store_true", help="with --arms: at real-time priority after the warm-up (Linux, CAP_SYS_NICE)")
    parser.add_argument("--sfstat", default="", help="the program sfstat, for arm sample")
    parser.add_argument("--profile", default="", help="folder for the traces of PyTorch's profiler; without it, none runs")
    parser.add_argument("--nvtx", action="store_true", help="mark steps and stages for Nsight Systems, which runs around this process")
    return parser.parse_args(arguments)


def require_torch() -> None:
    """Ends the process in one line where there is no PyTorch."""
    try:
        import torch.distributed
    except ImportError as error:
        sys.exit("%s has no PyTorch (%s): %s -m pip install torch, or name another interpreter"
                 % (sys.executable, error, sys.executable))
    if not torch.distributed.is_available():
        sys.exit("this PyTorch (%s) was built without torch.distributed: install another build" % torch.__version__)


def end_with_launcher() -> None:
    """Ends this process when its standard input does: the launcher that holds
    it open is gone, and nobody would read what this job writes.
    """
    def watch() -> None:
        try:
            while os.read(0, 1):  # not sys.stdin: its lock outlives the interpreter
                pass
        finally:
            os._exit(70)

    threading.Thread(target=watch, name="launcher", daemon=True).start()


if __name__ == "__main__":
    main()
