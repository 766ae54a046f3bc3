"""The answer of ``sfstat diagnose``, as ``sfstat schema verdict`` describes it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from . import html, tables

SCHEMA = "sfstat.verdict/4"

Evidence = Mapping[str, Any]  # "kind" and its numbers: sfstat schema verdict


@dataclass(frozen=True)
class StepsStruck:
    """Which steps a finding struck."""

    count: int
    of: int
    first: Optional[int]
    last: Optional[int]
    pattern: str
    period: Optional[int]


@dataclass(frozen=True)
class SourceLine:
    """The line that a late rank entered a collective from, or spends its delay in."""

    file: str
    line: int
    function: str
    call: str


@dataclass(frozen=True)
class Finding:
    """What delays the job, by how much, and how sure that is. Times are nanoseconds, gains parts of a step."""

    kind: str
    cause: str
    rank: Optional[int]
    stands_for: Tuple[int, ...]
    host: Optional[str]
    local_rank: Optional[int]
    role: Optional[str]
    stage: Optional[str]
    op: Optional[str]
    seq: Optional[int]
    group: Optional[str]
    ranks: Tuple[int, ...]
    source_line: Optional[SourceLine]
    confidence: str
    below_min_gain: bool
    gain: Optional[float]
    run_gain: Optional[float]
    run_gain_low: Optional[float]
    run_gain_at_most: Optional[float]
    steps_struck: StepsStruck
    step_ns: int
    excess_ns: int
    explained_ns: int
    score: Optional[float]
    evidence: Tuple[Evidence, ...]
    windows: Tuple[int, ...]


@dataclass(frozen=True)
class Undecided:
    """A question that the recording leaves open. What does not apply is None."""

    question: str
    stage: Optional[str] = None
    hides_ns: Optional[int] = None
    unlikely: bool = False
    stage_ns: Optional[int] = None
    step_ns: Optional[int] = None
    n: Optional[int] = None
    ranks: Optional[Tuple[int, ...]] = None
    needs: Optional[str] = None
    name: Optional[str] = None
    share: Optional[float] = None
    about: Tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Limit:
    """How large a delay has to be to be reported in a stage, or how large one may hide in it, ns a step."""

    stage: str
    reported_ns: Optional[int] = None
    may_hide_ns: Optional[int] = None


@dataclass(frozen=True)
class Coverage:
    """What the recording shows of a place of a step: the least delay of one rank that is found, and how large one may hide, ns a step."""

    stage: str
    seen: bool
    hides_ns: int
    least_ns: Optional[int]
    reason: Optional[str]
    needs: Optional[str]


@dataclass(frozen=True)
class Excess:
    """What a rank takes in a stage beyond its peers, ns a step."""

    stage: str
    late: bool
    excess_ns: int


@dataclass(frozen=True)
class Departure:
    """A time at which the distributions of a rank and of its peers are compared: shares of steps that take longer."""

    beyond_ns: int
    peers: Optional[float]
    rank: Optional[float]
    d: Optional[float]


@dataclass(frozen=True)
class LastInQuarter:
    """In how many steps of a quarter of the run a rank is last even less the margin."""

    last: int
    of: int


@dataclass(frozen=True)
class Difference:
    """How a rank differs from its peers in its own work by more than a margin, however little that costs."""

    rank: int
    host: Optional[str]
    peer: Optional[int]
    stages: Tuple[Excess, ...]
    sum: bool
    confidence: str
    slower: bool
    level_ns: int
    total_ns: int
    level_share: Optional[float]
    d: Optional[float]
    p: Optional[float]
    p_distribution: Optional[float]
    p_waits: Optional[float]
    last: int
    of: int
    places: Tuple[Departure, ...]
    together: bool
    quarters: Tuple[LastInQuarter, ...]
    walks: Optional[int]
    symptoms: Optional[int]
    saves: Optional[float]
    named: bool


@dataclass(frozen=True)
class LatentTest:
    """How latent differences were tested."""

    refused: Optional[str]
    screened: bool
    steps: int
    margin_ns: int
    correlation_steps: Optional[float]
    block_steps: int
    blocks: int


@dataclass(frozen=True)
class Problem:
    """Something that was lost, left out or refused."""

    problem: str
    path: Optional[str] = None
    window: Optional[int] = None
    rank_ranges: Tuple[Tuple[int, ...], ...] = ()
    steps: Optional[Tuple[int, ...]] = None
    n: Optional[int] = None
    of: Optional[int] = None
    times_ns: Optional[Tuple[int, ...]] = None
    text: Optional[str] = None
    stage: Optional[str] = None
    size_ns: Optional[int] = None

    @property
    def ranks(self) -> Tuple[int, ...]:
        """The ranks that it is about."""
        return tuple(rank for first, last in self.rank_ranges for rank in range(first, last + 1))


@dataclass(frozen=True)
class Worker:
    """A worker of an operator trace that stands for several ranks."""

    worker: int
    stands_for: Tuple[int, ...]


@dataclass(frozen=True)
class Action:
    """Something to do next."""

    action: str
    host: Optional[str] = None
    ranks: Tuple[int, ...] = ()
    peers: Tuple[int, ...] = ()
    workers: Tuple[Worker, ...] = ()
    stages: Tuple[str, ...] = ()
    steps: Optional[Tuple[int, ...]] = None
    window: Optional[int] = None
    tool: Optional[str] = field(default=None, metadata={"json": "with"})
    source_line: Optional[SourceLine] = None
    monitored: Optional[Evidence] = None
    reported: Optional[Evidence] = None


@dataclass(frozen=True)
class Device:
    """How the device of a rank spent its time, as shares of it; None where it did nothing."""

    rank: int
    span_ns: int
    compute_share: Optional[float]
    communication_share: Optional[float]
    memory_share: Optional[float]
    idle_share: Optional[float]
    exposed_communication_share: Optional[float]
    exposed_part_of_communication: Optional[float]
    unlike_peers: Tuple[str, ...]


@dataclass(frozen=True)
class RunVerdict:
    """The verdict on one run."""

    run: str
    status: str
    headline: str
    why: str
    advice: str
    confidence: str
    findings: Tuple[Finding, ...]
    run_gain_together: Optional[float]
    limits: Tuple[Limit, ...]
    coverage: Tuple[Coverage, ...]
    latent: Tuple[Difference, ...]
    latent_test: Optional[LatentTest]
    observations: Tuple[Evidence, ...]
    undecided: Tuple[Undecided, ...]
    problems: Tuple[Problem, ...]
    next: Tuple[Action, ...]
    devices: Tuple[Device, ...]


@dataclass(frozen=True)
class Verdict(RunVerdict):
    """The verdict on all runs of the input; its own fields are of the run that most needs attention."""

    min_gain: Optional[float]
    other_runs: Tuple[RunVerdict, ...]
    recurring_host: Optional[Evidence]
    raw: Mapping[str, Any] = field(repr=False, compare=False)  # the whole document: windows, gates, operators

    @property
    def runs(self) -> Tuple[RunVerdict, ...]:
        """All runs, the one that most needs attention first."""
        return (self, *self.other_runs)

    def records(self) -> Iterator[Dict[str, Any]]:
        """Yields one flat row for each finding of each run."""
        for run in self.runs:
            for place, finding in enumerate(run.findings, 1):
                row: Dict[str, Any] = {"run": run.run, "status": run.status, "place": place}
                for name, value in vars(finding).items():
                    if name == "steps_struck":
                        row.update((f"struck_{k}", v) for k, v in asdict(value).items())
                    elif name == "source_line":
                        row[name] = f"{value.file}:{value.line}" if value else None
                    elif name == "evidence":
                        row[name] = [e["kind"] for e in value]
                    else:
                        row[name] = list(value) if isinstance(value, tuple) else value
                yield row

    def to_pandas(self) -> Any:
        """Returns a DataFrame with a row for each finding; needs pandas."""
        columns = ["run", "status", "place"]
        for name in Finding.__dataclass_fields__:
            columns += [f"struck_{k}" for k in StepsStruck.__dataclass_fields__] if name == "steps_struck" else [name]
        return tables.frame(self.records(), columns)

    def steps(self, run: str) -> List[Tuple[str, float, float, List[int]]]:
        """Returns where a step of a run goes: stages with their nanoseconds, their part of the step, and the ranks that are late there."""
        windows = [w for w in self.raw.get("windows") or [] if w["run"] == run and w["group"] is None and w["steps"]]
        if not windows:
            return []
        window = max(windows, key=lambda w: float(w["makespan_ns"]))
        late = [c for c in window["culprits"] or []]
        return [(s["name"], s["advance_ns"] / window["steps"], s["share"], [c["rank"] for c in late if c["stage"] == s["name"]])
                for s in window["stages"] if s["share"]]

    def __str__(self) -> str:
        """Returns the first screen of every run, as the program prints it."""
        screens = []
        for run in self.runs:
            found = run.confidence if any(not f.below_min_gain for f in run.findings) else ""
            text = html.screen(run.headline, found, [("Why", run.why), ("Next", run.advice)])
            for name, ns, part, ranks in self.steps(run.run):
                text += f"\n{name:<26}{html.length(ns):>9} {html.percent(part):>8}  " + ", ".join(f"rank {r}" for r in ranks)
            screens.append("\n".join(line.rstrip() for line in text.splitlines()))
        return "\n\n".join(screens)

    def _repr_html_(self) -> str:
        body: List[str] = []
        for run in self.runs:
            flagged = [f for f in run.findings if not f.below_min_gain]
            body.append(html.headline(run.headline, run.status in ("straggler", "hang"), run.confidence if flagged else ""))
            body.append(html.facts([("run", run.run), ("status", run.status.replace("_", " ")), ("why", run.why), ("next", run.advice)]))
            body.append(html.bars([(name, part, f"{html.length(ns)}  {', '.join(f'rank {r}' for r in ranks)}", bool(ranks))
                                   for name, ns, part, ranks in self.steps(run.run)]))
            body.append(html.table(
                ["finding", "stage", "a step loses", "fixing saves", "of the run", "certainty", "evidence"],
                [[s.kind if s.rank is None else f"rank {s.rank}", s.stage or s.op or "", html.length(s.excess_ns), html.percent(s.gain), html.percent(s.run_gain), s.confidence,
                  ", ".join(e["kind"].replace("_", " ") for e in s.evidence)] for s in run.findings]))
            body.append(html.table(
                ["not seen", "may hide", "because", "shown by"],
                [[c.stage or "anywhere", html.length(c.hides_ns) if c.hides_ns else "", (c.reason or "").replace("_", " "), (c.needs or "").replace("_", " ")]
                 for c in run.coverage if not c.seen]))
            body.append(html.table(
                ["not decided", "stage", "may hide"],
                [[u.question.replace("_", " "), u.stage or "", html.length(u.hides_ns) if u.hides_ns else ""] for u in run.undecided]))
            body.append(html.table(
                ["problem", "where"],
                [[p.problem.replace("_", " "), p.text or p.path or ""] for p in run.problems]))
        return html.page(body)
