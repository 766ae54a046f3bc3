"""One function for each command that has a typed answer."""

from __future__ import annotations

import os
from typing import Any, Optional, Sequence, Tuple, Union

from . import comparison, decode, frames, jobs, program, tables, verdict

Path = Union[str, "os.PathLike[str]"]
Frame = Any  # of pandas, polars or Arrow
Input = Union[Path, Frame, Sequence[Union[Path, Frame]]]


def diagnose(data: Input, *, unit: Optional[str] = None, min_gain: Optional[float] = None, baseline: Optional[Path] = None,
             flags: Sequence[str] = ()) -> verdict.Verdict:
    """Returns one verdict on everything in files, folders or data frames.

    A data frame has the columns of a table: step, rank and the time of each stage. ``unit`` is that of times whose
    column names none: "ms", "s"; ``baseline`` is a healthy run of the same job; ``flags`` are any others of
    ``sfstat diagnose``. Raises BadInputError with the line that the program wrote.
    """
    args = ["diagnose", "--format", "json", *flags]
    if unit is not None:
        args += ["--unit", unit]
    if min_gain is not None:
        args += ["--min-gain", repr(min_gain)]
    if baseline is not None:
        args += ["--baseline", os.fspath(baseline)]
    with frames.paths(data) as paths:
        return decode.document(verdict.Verdict, program.run(args + paths), verdict.SCHEMA)


def report(data: Input, output: Path, *, flags: Sequence[str] = ()) -> str:
    """Writes the verdict with its charts as one HTML page, and returns its path."""
    with frames.paths(data) as paths:
        program.run(["report", "--quiet", "-o", os.fspath(output), *flags, *paths])
    return os.fspath(output)


def hang(path: Union[Path, Sequence[Path]], *, flags: Sequence[str] = ()) -> jobs.Hang:
    """Returns which rank never entered a collective that others wait in, by dumps and stacks."""
    with frames.paths(path) as paths:
        return decode.document(jobs.Hang, program.run(["hang", "--format", "json", *flags, *paths]), jobs.HANG)


def comm(path: Union[Path, Sequence[Path]], *, flags: Sequence[str] = ()) -> jobs.Communication:
    """Returns which link or communicator is slow and who enters last, by logs and exports of NCCL."""
    with frames.paths(path) as paths:
        return decode.document(jobs.Communication, program.run(["comm", "--format", "json", *flags, *paths]), jobs.COMM)


def compare(base: Union[Path, Frame], new: Union[Path, Frame], *, gate: Union[float, str, None] = None, flags: Sequence[str] = ()) -> comparison.Comparison:
    """Returns what two sets of runs differ in. A gate that is exceeded is no error: see ``Comparison.exceeded``."""
    args = ["compare", "--format", "json", *flags]
    if gate is not None:
        args += ["--gate", str(gate)]
    with frames.paths([base, new]) as paths:
        return decode.document(comparison.Comparison, program.run(args + paths), comparison.SCHEMA)


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
    with frames.paths(path) as paths:
        return program.run(args + paths)


def read_findings(path: Path) -> Any:
    """Returns the findings that batch wrote as a DataFrame; needs pandas and, for Parquet, pyarrow."""
    name = os.fspath(path)
    if name.endswith(".parquet"):
        return tables.pandas().read_parquet(name)
    return tables.pandas().read_json(name, lines=True)
