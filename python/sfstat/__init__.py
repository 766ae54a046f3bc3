"""sfstat from Python: which rank, which stage made a training job slow.

    import sfstat

    verdict = sfstat.diagnose("runs/job-42")  # or a data frame of pandas, polars or Arrow
    print(verdict)
    verdict.findings[0].host
    verdict.to_pandas()

The program does the work; this package starts it and types what it answers.
pandas is needed by ``to_pandas`` alone, PySpark by ``sfstat.spark``. The
recorder of stage times is the package ``sfstat_recorder`` beside this one.
"""

from .commands import batch, comm, compare, diagnose, hang, read_findings, report
from .comparison import Amount, Choice, CommunicationChanges, ComparedCommunicator, ComparedFinding, ComparedRun, Comparison, Row, Use
from .decode import FormatError
from .jobs import Absent, Blocked, Communication, Hang, HangJob
from .program import BadInputError, NotFoundError, SfstatError, find, version
from .verdict import Action, Coverage, Difference, Finding, LatentTest, Limit, Problem, RunVerdict, SourceLine, StepsStruck, Undecided, Verdict

__version__ = "0.1.0"

__all__ = [
    "Absent", "Action", "Amount", "BadInputError", "Blocked", "Choice", "Communication", "CommunicationChanges", "ComparedCommunicator", "ComparedFinding", "ComparedRun", "Comparison",
    "Coverage", "Difference", "Finding", "FormatError", "Hang", "HangJob", "LatentTest", "Limit", "NotFoundError", "Problem", "Row", "RunVerdict", "SfstatError", "SourceLine", "StepsStruck", "Undecided", "Use", "Verdict",
    "batch", "comm", "compare", "diagnose", "find", "hang", "read_findings", "report", "version",
]
