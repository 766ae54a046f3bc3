"""What profilers see of the recorded steps, beside the recorder."""

from __future__ import annotations

import os
from typing import Any, ContextManager, Union

import torch.cuda.nvtx
import torch.profiler


class Profiler:
    """Writes the trace of one rank to a folder. Steps have the recorder's
    numbers and stages its names, so that both tell of the same.
    """

    def __init__(self, folder: str, rank: int) -> None:
        self._path = os.path.join(folder, "rank-%05d.pt.trace.json.gz" % rank)
        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        self._profile: Any = torch.profiler.profile(activities=activities)
        self._running = False

    def step(self, index: int) -> ContextManager[object]:
        """Marks a step; the first begins the recording."""
        if not self._running:
            self._profile.start()
            self._running = True
        return torch.profiler.record_function("ProfilerStep#%d" % index)

    def stage(self, name: str) -> ContextManager[object]:
        """Marks a stage of the step."""
        return torch.profiler.record_function(name)

    def close(self) -> None:
        """Ends the recording and writes it."""
        if self._running:
            self._profile.stop()
            self._profile.export_chrome_trace(self._path)


class Ranges:
    """Marks steps and stages as NVTX ranges, for Nsight Systems around the
    process. Needs a build of PyTorch for CUDA, and no GPU.
    """

    def step(self, index: int) -> ContextManager[object]:
        """Marks a step."""
        return torch.cuda.nvtx.range("ProfilerStep#%d" % index)

    def stage(self, name: str) -> ContextManager[object]:
        """Marks a stage of the step."""
        return torch.cuda.nvtx.range(name)

    def close(self) -> None:
        """Nsight Systems writes when the process has ended."""


Marks = Union[Profiler, Ranges]
