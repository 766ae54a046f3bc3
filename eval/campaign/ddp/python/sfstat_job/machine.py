"""What a machine does beside the job, and the priority that it gives it.

Nothing in this module needs PyTorch, and nothing but ``realtime`` ends the job.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Optional

_THROTTLING = "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_power_cap"
_QUERY = "--query-gpu=" + ",".join("clocks_event_reasons_counters." + reason for reason in _THROTTLING)


@dataclass(frozen=True)
class Processors:
    """Time of all processors since the machine began, in nanoseconds."""

    busy: int
    steal: int  # taken by the host of a virtual machine


def processors(path: str = "/proc/stat") -> Optional[Processors]:
    """The figures of Linux; None where there are none. They grow by ticks of 10 ms."""
    try:
        with open(path, encoding="ascii") as file:
            fields = file.readline().split()
        user, nice, system, _, _, irq, softirq, steal = (int(field) for field in fields[1:9])
    except (OSError, ValueError):
        return None
    if fields[0] != "cpu":
        return None
    tick = _tick_ns()
    return Processors((user + nice + system + irq + softirq) * tick, steal * tick)


def process_ns(pid: int, root: str = "/proc") -> int:
    """Processor time of a process and of its children that have ended; 0 where it is not known."""
    try:
        with open(os.path.join(root, str(pid), "stat"), encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:15]) * _tick_ns()
    except (OSError, ValueError):
        return 0


def throttled_ns(program: str = "nvidia-smi") -> Optional[int]:
    """For how long heat or power has slowed GPUs since their driver was loaded, the sum
    of GPUs and reasons; None where there is no GPU, or its driver does not count that.
    """
    try:
        done = subprocess.run([program, _QUERY, "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=10)
        return sum(int(cell) * 1000 for cell in done.stdout.replace("\n", ",").split(",") if cell.strip()) if done.returncode == 0 else None
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def realtime() -> None:
    """Puts all threads of this process, and those that it starts, before the other work
    of the machine.
    """
    try:
        for thread in os.listdir("/proc/self/task"):
            os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(1))
    except (AttributeError, OSError) as error:
        sys.exit("no real-time priority (%s): it needs Linux and CAP_SYS_NICE, as root has; leave realtime out" % error)


class Monitor:
    """``sfstat sample``, which runs in some chunks and stands still in the others, so that
    its start is in none. It samples every second, five times as often as by default:
    chunks of a few seconds then have some samples each.
    """

    def __init__(self, program: str, path: str) -> None:
        self._process = subprocess.Popen([program, "sample", "--every", "1s", "-o", path], stdin=subprocess.DEVNULL)
        self.stand()

    def go(self) -> None:
        """Lets it run."""
        self._signal(signal.SIGCONT)

    def stand(self) -> None:
        """Stops it until it may run again."""
        self._signal(signal.SIGSTOP)

    def used_ns(self) -> int:
        """Processor time that it has used."""
        return process_ns(self._process.pid)

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()

    def _signal(self, number: "signal.Signals") -> None:
        if self._process.poll() is not None:
            sys.exit("sfstat sample ended with exit status %d while the job ran" % self._process.returncode)
        self._process.send_signal(number)


def _tick_ns() -> int:
    return 1_000_000_000 // os.sysconf("SC_CLK_TCK")
