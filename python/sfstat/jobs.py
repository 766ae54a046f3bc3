"""The answers of ``sfstat hang`` and ``sfstat comm``, as ``sfstat schema`` describes them; what is not typed here is in ``raw``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple

from . import html
from .verdict import Action, Finding, SourceLine, Undecided

HANG = "sfstat.hang/1"
COMM = "sfstat.comm/1"


@dataclass(frozen=True)
class Absent:
    """A rank that did not enter a call in which others wait; -1 where nothing tells which."""

    rank: int
    may: bool
    host: Optional[str]
    last_op: Optional[str]
    last_seq: Optional[int]
    last_line: Optional[SourceLine]


@dataclass(frozen=True)
class Blocked:
    """A call in which ranks wait."""

    group: str
    op: str
    seq: int
    waiting_ranks: Tuple[int, ...]
    waited_at_least_ns: int
    missing: Tuple[Absent, ...]


@dataclass(frozen=True)
class HangJob:
    """Where the ranks of one job stand."""

    run: str
    hang: bool
    ranks: Tuple[int, ...]
    missing_ranks: Tuple[int, ...]
    root_ranks: Tuple[int, ...]
    blocked: Tuple[Blocked, ...]


@dataclass(frozen=True)
class Hang:
    """Who is missing where jobs stand still."""

    jobs: Tuple[HangJob, ...]
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def missing(self) -> Tuple[Absent, ...]:
        """Returns all ranks that others wait for."""
        return tuple(m for job in self.jobs for b in job.blocked for m in b.missing)


@dataclass(frozen=True)
class Communication:
    """What slows the communication of a job."""

    headline: str
    confidence: str
    findings: Tuple[Finding, ...]
    undecided: Tuple[Undecided, ...]
    next: Tuple[Action, ...]
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return html.screen(self.headline, self.confidence if self.findings else "", [])
