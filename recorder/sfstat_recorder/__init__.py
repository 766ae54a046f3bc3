"""Records what each rank of a training job spends its steps on.

    perf = Recorder("runs/job-42")
    for batch in perf.batches(loader):
        with perf.step():
            with perf.stage("model.fwd_loss_cpu_wall"):
                ...

Every rank writes a packet per window of steps, a line of JSON that ``sfstat``
reads. Standard library only; nothing is imported from PyTorch before it is
used.
"""

from .capture import Plan, Profiler
from .events import CudaEvents, EventTimer
from .gather import Group, TorchGroup
from .identity import Identity
from .recorder import Cost, Recorder
from .router import Trigger
from .spans import Fault, OnFault, StageError
from .stages import BACKWARD, CALLBACKS, DATA, FORWARD, OPTIMIZER, RESIDUAL, STAGES, DataWait, Stages
from .torchprofiler import TorchProfiler

__version__ = "0.1.0"

__all__ = [
    "BACKWARD", "CALLBACKS", "DATA", "FORWARD", "OPTIMIZER", "RESIDUAL", "STAGES",
    "Cost", "CudaEvents", "DataWait", "EventTimer", "Fault", "Group", "Identity", "OnFault", "Plan", "Profiler",
    "Recorder", "StageError", "Stages", "TorchGroup", "TorchProfiler", "Trigger",
]
