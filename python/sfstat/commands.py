"""One function for each command that has a typed answer."""

from __future__ import annotations

import os
from typing import Any, List, Optional, Sequence, Tuple, Union

from . import comparison, decode, program, tables, verdict

Path = Union[str, "os.PathLike[str]"]


def paths(given: Union[Path, Sequence[Path]]) -> List[str]:
    """Returns paths as arguments that are no flags."""
    several = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    return ["--", *(os.fspath(p) for p in several)]


def diagnose(path: Union[Path, Sequence[Path]], *, min_gain: Optional[float] = None, baseline: Optional[Path] = None,
             flags: Sequence[str] = ()) -> verdict.Verdict:
    """Returns one verdict on everything in files or folders.

    ``baseline`` is a healthy run of the same job; ``flags`` are any others of
    ``sfstat diagnose``. Raises BadInputError with the line that the program wrote.
    """
    args = ["diagnose", "--format", "json", *flags]
    if min_gain is not None:
        args += ["--min-gain", repr(min_gain)]
    if baseline is not None:
        args += ["--baseline", os.fspath(baseline)]
    return decode.document(verdict.Verdict, program.run(args + paths(path)), verdict.SCHEMA)


def compare(base: Path, new: Path, *, gate: Union[float, str, None] = None, flags: Sequence[str] = ()) -> comparison.Comparison:
    """Returns what two sets of runs differ in. A gate that is exceeded is no error: see ``Comparison.exceeded``."""
    args = ["compare", "--format", "json", *flags]
    if gate is not None:
        args += ["--gate", str(gate)]
    return decode.document(comparison.Comparison, program.run(args + paths([base, new])), comparison.SCHEMA)


def batch(path: Union[Path, Sequence[Path]], output: Path, *, resume: bool = False, shard: Optional[Tuple[int, int]] = None,
          flags: Sequence[str] = ()) -> str:
    """Analyses archives into a file of findings and returns its summary.

    ``resume`` goes on where a batch was cut off; ``shard=(1, 8)`` takes the first of eight parts.
    """
    args = ["batch", "-o", os.fspath(output), *flags]
    if resume:
        args.append("--resume")
    if shard is not None:
        args += ["--shard", f"{shard[0]}/{shard[1]}"]
    return program.run(args + paths(path))


def read_findings(path: Path) -> Any:
    """Returns the findings that batch wrote as a DataFrame; needs pandas and, for Parquet, pyarrow."""
    name = os.fspath(path)
    if name.endswith(".parquet"):
        return tables.pandas().read_parquet(name)
    return tables.pandas().read_json(name, lines=True)
