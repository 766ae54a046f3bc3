"""What sfstat says of real jobs on a GPU: two ranks on one device, within eight minutes.

    go build -o bin/sfstat ./cmd/sfstat
    python3 bench/device/check.py OUT [--device cpu] [--sfstat bin/sfstat]

Runs job.py without a fault, with one on the device and with one on the host, and
`sfstat sample` beside. Then it asks diagnose, frontier and inspect of the packets,
of the profiler's traces and of the samples, and prints a line for each thing that
is expected: ok, NO with what was said, or skipped where there is no device. OUT
gets said.txt, the recordings of each job (JOB.packets.jsonl, JOB.tar with the traces) and
host.prom, which may become fixtures. Exits with 1 where something is not as expected, with 3 without
PyTorch or without a GPU.

PyTorch must be there with CUDA. On --device cpu everything runs but what a device must show.
"""

from __future__ import annotations

import argparse
import glob
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from typing import Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
FAULTS = ("none", "device", "host")
JOB_S = 100  # at most, of each of three jobs
TELL_S = 20  # at most, of each command of sfstat


class Check:
    def __init__(self, out: str, program: str, device: str) -> None:
        self.out, self.program, self.device = out, program, device
        self.failed = 0
        self.said = open(os.path.join(out, "said.txt"), "w")

    def ask(self, *arguments: str) -> str:
        """What sfstat answers, which is kept."""
        done = subprocess.run([self.program, *arguments, "--quiet", "--width", "100"], capture_output=True, text=True, timeout=TELL_S)
        answer = done.stdout + done.stderr
        self.said.write("$ sfstat %s\n%s\n" % (" ".join(arguments), answer))
        return answer

    def expect(self, what: str, holds: bool, said: str = "", needs_device: bool = False) -> None:
        if needs_device and self.device == "cpu":
            line = "skipped  %s" % what
        elif holds:
            line = "ok       %s" % what
        else:
            self.failed += 1
            line = "NO       %s: %s" % (what, said.strip().replace("\n", " ")[:300])
        print(line, flush=True)
        self.said.write(line + "\n")

    def run_job(self, fault: str, folder: str) -> bool:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", os.path.join(HERE, "job.py"), folder, fault, self.device]
        job = subprocess.Popen(command, start_new_session=True)
        try:
            return job.wait(timeout=JOB_S) == 0
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            return False


def kernels_of(trace: str) -> int:
    """Events of a trace that ran on a device."""
    with gzip.open(trace, "rt") as f:
        return sum(e.get("cat") == "kernel" for e in json.load(f)["traceEvents"])


def sampled(packets: str) -> Tuple[int, int]:
    """Device samples of the packets, and those that were ready."""
    ready = every = 0
    with open(packets) as f:
        for line in f:
            for channel in json.loads(line).get("side", {}).values():
                every, ready = every + len(channel["ready"]), ready + sum(channel["ready"])
    return every, ready


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("out")
    options.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options.add_argument("--sfstat", default="bin/sfstat")
    o = options.parse_args()
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed for %s: nothing can be checked" % sys.executable, file=sys.stderr)
        return 3
    if o.device == "cuda" and not torch.cuda.is_available():
        print("PyTorch %s sees no GPU: run with --device cpu for what needs none" % torch.__version__, file=sys.stderr)
        return 3
    began = time.time()
    os.makedirs(o.out, exist_ok=True)
    c = Check(o.out, os.path.abspath(o.sfstat), o.device)
    samples = os.path.join(o.out, "host.prom")
    sampler = subprocess.Popen([c.program, "sample", "--every", "1s", "-o", samples, "--quiet"])
    folders = {}
    try:
        for fault in FAULTS:
            folders[fault] = os.path.join(o.out, "work", fault)
            c.expect("job %s runs to its end" % fault, c.run_job(fault, folders[fault]), "it failed, or took more than %d s" % JOB_S)
    finally:
        sampler.send_signal(signal.SIGINT)
        sampler.wait(timeout=30)
    for fault in FAULTS:
        keep(c, fault, folders[fault])
    judge(c, folders, samples)
    shutil.rmtree(os.path.join(o.out, "work"))
    print("%.0f s; what was said is in %s" % (time.time() - began, os.path.join(o.out, "said.txt")))
    return 1 if c.failed else 0


def keep(c: Check, fault: str, folder: str) -> None:
    """Packets of a job in one file, traces in another."""
    with open(os.path.join(c.out, fault + ".packets.jsonl"), "w") as out:
        for path in sorted(glob.glob(os.path.join(folder, "packets", "*.jsonl"))):
            with open(path) as f:
                out.write(f.read())
    with tarfile.open(os.path.join(c.out, fault + ".tar"), "w") as out:
        for path in sorted(glob.glob(os.path.join(folder, "trace-rank*.json.gz"))):
            out.add(path, os.path.basename(path))


def judge(c: Check, folders: dict, samples: str) -> None:
    for fault in FAULTS:
        packets = os.path.join(c.out, fault + ".packets.jsonl")
        every, ready = sampled(packets)
        c.expect("%s: device times of every step, all ready" % fault, every == ready and every >= 100, "%d of %d" % (ready, every), needs_device=True)
        labels = c.ask("frontier", packets, "--format", "json")
        c.expect("%s: the account has both ranks" % fault, '"world_size": 2' in labels, labels)
        c.expect("%s: label forward_device_supported %s" % (fault, "is there" if fault == "device" else "is not"),
                 ("forward_device_supported" in labels) == (fault == "device"), labels, needs_device=True)
        verdict = c.ask("diagnose", packets)
        if fault == "host":
            c.expect("host: rank 1 is named", "Rank 1" in verdict.split("\n")[0], verdict)
        if fault == "none":
            c.expect("none: no rank is named", not verdict.startswith("Rank "), verdict)
        traces = sorted(glob.glob(os.path.join(folders[fault], "trace-rank*.json.gz")))
        c.expect("%s: a trace of each rank" % fault, len(traces) == 2, str(traces))
        read = c.ask("inspect", folders[fault])
        c.expect("%s: inspect reads the traces" % fault, "kineto" in read.lower() or "profiler" in read.lower(), read)
        c.expect("%s: the traces have kernels" % fault, all(kernels_of(t) > 0 for t in traces), needs_device=True)
    told = c.ask("diagnose", *sorted(glob.glob(os.path.join(folders["device"], "trace-rank*.json.gz"))))
    c.expect("device: the traces give a verdict", bool(told.strip()) and "panic" not in told, told)
    with open(samples) as f:
        text = f.read()
    c.expect("samples of the host", "sfstat_" in text or "node_" in text, text)
    c.expect("samples of the GPU", "DCGM_FI_DEV_SM_CLOCK" in text, text[:300], needs_device=True)
    beside = c.ask("diagnose", os.path.join(c.out, "host.packets.jsonl"), samples)
    c.expect("a verdict with the samples beside", bool(beside.strip()) and "panic" not in beside, beside)


if __name__ == "__main__":
    sys.exit(main())
