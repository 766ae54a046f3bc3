"""PyTorch's profiler over the recorded steps, beside the recorder."""

from __future__ import annotations

import os
from typing import Any, ContextManager

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
