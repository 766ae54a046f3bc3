"""The answer of ``sfstat compare``, as ``sfstat schema compare`` describes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

from . import html, tables

SCHEMA = "sfstat.compare/1"


@dataclass(frozen=True)
class ComparedRun:
    """One run of a side."""

    run: str
    world_size: int
    windows: int
    steps: int
    begin_ns: Optional[int]
    step_time_ns: Optional[float]


@dataclass(frozen=True)
class Row:
    """One measure of both sides. ``change``, ``low``, ``high`` and ``shows`` are parts of the base's step."""

    measure: str
    stage: Optional[str]
    verdict: str
    base_ns: Optional[float]
    new_ns: Optional[float]
    base_units: int
    new_units: int
    change_ns: Optional[float]
    low_ns: Optional[float]
    high_ns: Optional[float]
    change: Optional[float]
    low: Optional[float]
    high: Optional[float]
    p: Optional[float]
    shows: Optional[float]
    base_share: Optional[float]
    new_share: Optional[float]


@dataclass(frozen=True)
class ComparedFinding:
    """What diagnose finds on either side."""

    kind: str
    stage: Optional[str]
    op: Optional[str]
    rank: Optional[int]
    host: Optional[str]
    status: str
    base_runs: int
    new_runs: int
    base_gain: Optional[float]
    new_gain: Optional[float]


@dataclass(frozen=True)
class Choice:
    """How NCCL ran calls."""

    algorithm: str
    protocol: str
    calls: int


@dataclass(frozen=True)
class Amount:
    """How much one side does of an operation."""

    calls: Optional[float]
    bytes: Optional[float]
    bytes_per_call: Optional[float]
    choices: Tuple[Choice, ...]
    bus_gb_s: Optional[float]
    measured: int


@dataclass(frozen=True)
class Use:
    """An operation on communicators of one kind and size, on both sides."""

    kind: str
    nranks: int
    op: str
    base: Amount
    new: Amount
    differs: bool


@dataclass(frozen=True)
class ComparedCommunicator:
    """A communicator that one side alone has."""

    kind: str
    ranks: Tuple[int, ...]
    nranks: int


@dataclass(frozen=True)
class CommunicationChanges:
    """What two recorded jobs communicate otherwise."""

    per_step: bool
    ranks: Tuple[int, ...]
    uses: Tuple[Use, ...]
    gone: Tuple[ComparedCommunicator, ...]
    new: Tuple[ComparedCommunicator, ...]


@dataclass(frozen=True)
class Comparison:
    """What two sets of runs differ in."""

    headline: str
    unit: str
    confidence: Optional[float]
    seed: int
    gate: Optional[float]
    standing: Optional[str]
    base: Tuple[ComparedRun, ...]
    new: Tuple[ComparedRun, ...]
    left_out: Tuple[str, ...]
    rows: Tuple[Row, ...]
    findings: Tuple[ComparedFinding, ...]
    doubts: Tuple[str, ...]
    communication: Optional[CommunicationChanges]
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def exceeded(self) -> bool:
        """Whether steps are surely longer, and by more than the gate as estimated."""
        return self.standing in ("exceeded", "surely_exceeded")

    def records(self) -> Iterator[Dict[str, Any]]:
        """Yields one flat row for each measure."""
        for row in self.rows:
            yield dict(vars(row))

    def to_pandas(self) -> Any:
        """Returns a DataFrame with a row for each measure; needs pandas."""
        return tables.frame(self.records(), list(Row.__dataclass_fields__))

    def _repr_html_(self) -> str:
        return html.page([
            html.headline(self.headline, any(r.measure == "step_time" and r.verdict == "regression" for r in self.rows)),
            html.facts([("compared", f"{len(self.base)} against {len(self.new)} runs, by {self.unit}"),
                        ("read with care", ", ".join(d.replace("_", " ") for d in self.doubts))]),
            html.table(
                ["", "base", "new", "change", f"{html.percent(self.confidence)} interval", "result", "shows"],
                [[r.stage if r.measure == "stage" else " ".join(filter(None, [r.measure.replace("_", " "), r.stage])), html.length(r.base_ns), html.length(r.new_ns),
                  html.percent(r.change), f"{html.percent(r.low)} … {html.percent(r.high)}", r.verdict.replace("_", " "), html.percent(r.shows)] for r in self.rows]),
            html.table(
                ["finding", "base runs", "new runs", "fixing saves", "status"],
                [[" ".join(filter(None, [f.kind if f.rank is None else f"rank {f.rank}", f.host, f.stage])), str(f.base_runs), str(f.new_runs),
                  html.percent(max(f.base_gain or 0.0, f.new_gain or 0.0)), f.status] for f in self.findings]),
        ])
