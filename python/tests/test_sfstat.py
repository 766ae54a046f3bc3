"""The package against the program: answers are typed, errors are its lines.

The program is $SFSTAT, or bin/sfstat of this checkout; without one the tests
that need it say so and are skipped.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import html.parser
import json
import os
import pickle
import random
import stat
import sys
import tempfile
import unittest
from typing import Union, get_args, get_origin, get_type_hints
from unittest import mock

import sfstat
from sfstat import comparison, decode, program, spark, verdict

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORDING = os.path.join(ROOT, "fixtures", "ddp", "host-callback-r8-s0.jsonl")
HEALTHY = os.path.join(ROOT, "fixtures", "ddp", "nofault-r8-s0.jsonl")

if "SFSTAT" not in os.environ and os.access(os.path.join(ROOT, "bin", "sfstat"), os.X_OK):
    os.environ["SFSTAT"] = os.path.join(ROOT, "bin", "sfstat")
try:
    sfstat.version()
    MISSING = ""
except sfstat.SfstatError as error:
    MISSING = f"NOT RUN: {error}"
try:
    import pandas  # noqa: F401

    NO_PANDAS = ""
except ImportError:
    NO_PANDAS = "NOT RUN: pandas is not installed"

for reason in filter(None, (MISSING, NO_PANDAS)):
    print(f"sfstat from Python: {reason}", file=sys.stderr)


class Balanced(html.parser.HTMLParser):
    """Checks that what is opened is closed, and keeps the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open, self.text, self.tags = [], "", set()
        self.feed(page)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


@unittest.skipIf(MISSING, MISSING)
class DiagnoseTest(unittest.TestCase):
    """The truth of the recording: rank 2 of 8 loses 120 ms a step in a callback."""

    @classmethod
    def setUpClass(cls):
        cls.verdict = sfstat.diagnose(RECORDING)

    def test_typed(self):
        v, s = self.verdict, self.verdict.findings[0]
        self.assertEqual((v.status, s.rank, s.stage, s.confidence, s.below_min_gain), ("straggler", 2, "callbacks.cpu_wall", "strong", False))
        self.assertAlmostEqual(s.excess_ns / 1e6, 120, delta=6)
        self.assertEqual(s.steps_struck.count, s.steps_struck.of)
        self.assertEqual((v.runs, v.other_runs), ((v,), ()))
        self.assertEqual(v.raw["schema"], verdict.SCHEMA)
        with self.assertRaises(dataclasses.FrozenInstanceError):
            s.rank = 3
        self.assertEqual(pickle.loads(pickle.dumps(v)), v)

    def test_several_paths_and_flags(self):
        v = sfstat.diagnose([RECORDING, HEALTHY], min_gain=0.9, flags=["--ranks", "0-7"])
        self.assertEqual(len(v.runs), 2)
        self.assertTrue(all(s.below_min_gain for r in v.runs for s in r.findings))
        self.assertEqual(v.min_gain, 0.9)

    def test_unseen(self):
        """Stage times of a healthy job do not show who is late in backward."""
        v = sfstat.diagnose(HEALTHY)
        blind = [c for c in v.coverage if not c.seen]
        self.assertEqual((v.status, [(c.stage, c.reason, c.needs, c.least_ns) for c in blind]), ("unseen", [("model.backward_cpu_wall", "ranks_wait", "arrivals", None)]))
        self.assertGreater(blind[0].hides_ns, 100e6)
        self.assertIn("ranks wait", Balanced(v._repr_html_()).text)

    def test_notebook(self):
        page = Balanced(self.verdict._repr_html_())
        self.assertIn("Rank 2 (node0, local rank 2)", page.text)
        self.assertIn(self.verdict.headline, page.text)
        self.assertIn("table", page.tags)

    def test_names_do_not_become_html(self):
        hostile = dataclasses.replace(self.verdict, headline="<script>alert(1)</script>", run="<img src=x>")
        page = Balanced(hostile._repr_html_())
        self.assertNotIn("script", page.tags)
        self.assertNotIn("img", page.tags)

    def test_rows(self):
        (row, *_) = self.verdict.records()
        self.assertEqual((row["run"], row["place"], row["rank"], row["struck_pattern"]), ("host-callback-r8-s0", 1, 2, "constant"))
        self.assertEqual(row["evidence"][0], self.verdict.findings[0].evidence[0]["kind"])

    @unittest.skipIf(NO_PANDAS, NO_PANDAS)
    def test_pandas(self):
        frame = self.verdict.to_pandas()
        self.assertEqual(list(frame["rank"])[:1], [2])
        self.assertEqual(list(sfstat.diagnose(HEALTHY).to_pandas().columns), list(frame.columns))

    def test_bad_input_is_its_line(self):
        with self.assertRaises(sfstat.BadInputError) as caught:
            sfstat.diagnose(os.path.join(ROOT, "nowhere"))
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertRegex(str(caught.exception), r"^sfstat diagnose: .*nowhere: cannot be read: no such file")
        self.assertNotIn("\n", str(caught.exception))

    def test_a_path_is_no_flag(self):
        with self.assertRaisesRegex(sfstat.BadInputError, "--version: cannot be read"):
            sfstat.diagnose("--version")


def late() -> str:
    """Returns a table of four ranks, of which rank 3 takes 40 ms longer in data; the others wait for it at the end of backward."""
    noise = random.Random(5)
    lines = ["step,rank,data_ms,forward_ms,backward_ms"]
    for step in range(40):
        times = [[ms * noise.gauss(1, 0.02) for ms in (55 if rank == 3 else 15, 60, 80)] for rank in range(4)]
        last = max(map(sum, times))
        lines += [f"{step},{rank},{data:.4f},{forward:.4f},{backward + last - data - forward - backward:.4f}"
                  for rank, (data, forward, backward) in enumerate(times)]
    return "\n".join(lines) + "\n"


LATE = late()


def rows():
    """The cells of the table, by column."""
    header, *body = [line.split(",") for line in LATE.splitlines()]
    return {name: [float(cells[i]) if i > 1 else int(cells[i]) for cells in body] for i, name in enumerate(header)}


class Pandas:
    """What of a DataFrame of pandas is used."""

    class index:
        names = [None]

    class columns:
        nlevels = 1

    def to_csv(self, path, index):
        assert not index
        with open(path, "w") as file:
            file.write(LATE)


class Polars:
    """What of a DataFrame of polars is used."""

    def write_csv(self, path):
        Pandas().to_csv(path, index=False)


class Arrow:
    """What of a table of Arrow is used."""

    column_names = list(rows())

    def to_pylist(self):
        return [dict(zip(rows(), cells)) for cells in zip(*rows().values())]


@unittest.skipIf(MISSING, MISSING)
class FrameTest(unittest.TestCase):
    def test_frames_are_tables(self):
        for frame in (Pandas(), Polars(), Arrow()):
            v = sfstat.diagnose(frame)
            self.assertEqual((v.status, v.findings[0].rank, v.findings[0].stage), ("straggler", 3, "data"), type(frame))
        with tempfile.TemporaryDirectory() as folder:
            page = sfstat.report(Pandas(), os.path.join(folder, "page.html"))
            with open(page, encoding="utf-8") as file:
                self.assertIn("delays everyone in data", file.read())
        self.assertEqual(sfstat.compare(Pandas(), Polars()).rows[0].verdict, "none_shown")

    @unittest.skipIf(NO_PANDAS, NO_PANDAS)
    def test_pandas(self):
        import pandas

        frame = pandas.DataFrame(rows())
        wide = frame.set_index(["step", "rank"]).unstack("rank")  # a column for each stage and rank
        named = frame.rename(columns=lambda name: name.replace("_ms", ""))
        for given, unit in ((frame, None), (frame.set_index(["step", "rank"]), None), (wide, None), (named, "ms"),
                            (frame.melt(["step", "rank"]), None)):
            v = sfstat.diagnose(given, unit=unit)
            self.assertEqual((v.findings[0].rank, v.findings[0].stage), (3, "data"), given.head(1))

    def test_text_and_page(self):
        v = sfstat.diagnose(Pandas())
        text = str(v)
        self.assertTrue(text.startswith("Rank 3 "), text)
        self.assertIn("[supported]", text)
        for word in ("\nWhy        ", "\nNext       ", "\ndata ", "rank 3"):
            self.assertIn(word, text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)
        page = v._repr_html_()
        self.assertIn("width:100.0%", page)
        self.assertEqual(page.count("#d55e00"), 2, "the headline, and the bar of the culprit's stage")

    def test_who_is_missing(self):
        with self.assertRaises(sfstat.BadInputError):
            sfstat.hang(HEALTHY + ".none")
        said = sfstat.comm(os.path.join(ROOT, "fixtures", "comm", "run"))
        self.assertEqual((said.findings[0].rank, said.confidence), (2, "strong"))
        self.assertIn("[strong]", str(said))


@unittest.skipIf(MISSING, MISSING)
class CompareTest(unittest.TestCase):
    def test_typed(self):
        c = sfstat.compare(HEALTHY, RECORDING, gate="5%")
        step = c.rows[0]
        self.assertEqual((step.measure, step.verdict, c.unit, c.exceeded, c.gate), ("step_time", "regression", "batches", True, 0.05))
        self.assertTrue(step.low < step.change < step.high)
        self.assertEqual([f.status for f in c.findings if f.rank == 2], ["new"])
        self.assertIn("in these two recordings", Balanced(c._repr_html_()).text)
        self.assertEqual(len(list(c.records())), len(c.rows))

    def test_no_difference(self):
        c = sfstat.compare(HEALTHY, HEALTHY, gate=0.5)
        self.assertFalse(c.exceeded)
        self.assertEqual(c.standing, "not_shown")

    @unittest.skipIf(NO_PANDAS, NO_PANDAS)
    def test_pandas(self):
        self.assertEqual(list(sfstat.compare(HEALTHY, RECORDING).to_pandas()["measure"])[0], "step_time")


class FormTest(unittest.TestCase):
    """The classes have the fields of the published schemas."""

    def test_columns_of_findings(self):
        with open(os.path.join(ROOT, "docs", "commands", "batch.md"), encoding="utf-8") as f:
            page = f.read()
        self.assertEqual([name for name, _, _ in spark.COLUMNS if f"`{name}`" not in page], [])

    def differences(self, name, root, only_raw):
        """Yields where the classes under root and the schema differ; only_raw are the fields that no class has."""
        schema = json.loads(program.run(["schema", name]))
        defs, seen = schema["$defs"], set()

        def shape(value):
            """Returns what a value may be, and whether it may be null."""
            if "$ref" in value:
                return shape(defs[value["$ref"].rpartition("/")[2]])
            if "anyOf" in value:
                others = [x for x in value["anyOf"] if x != {"type": "null"}]
                return others[0] if len(others) == 1 else {"type": "object"}, len(others) < len(value["anyOf"])
            if "enum" in value:
                return {"type": "string"}, None in value["enum"]
            types = [value["type"]] if isinstance(value["type"], str) else value["type"]
            return dict(value, type=[t for t in types if t != "null"][0]), "null" in types

        def compare(kind, value, required, default, at):
            value, null = shape(value)
            optional = get_origin(kind) is Union
            if optional:
                kind = get_args(kind)[0]
            if null and not optional:
                yield f"{at} may be null"
            elif optional and not null and required:
                yield f"{at} is never null"
            elif not required and default is dataclasses.MISSING:
                yield f"{at} may lack and has no default"
            value, _ = shape(value)
            if value["type"] == "object":
                if dataclasses.is_dataclass(kind):
                    yield from fields(kind, value, at)
                elif get_origin(kind) is not collections.abc.Mapping:
                    yield f"{at} is an object, {kind} here"
            elif value["type"] == "array":
                if get_origin(kind) is not tuple:
                    yield f"{at} is a list, {kind} here"
                else:
                    yield from compare(get_args(kind)[0], value["items"], True, None, at + "[]")
            elif kind is not {"string": str, "integer": int, "number": float, "boolean": bool}[value["type"]]:
                yield f"{at} is a {value['type']}, {kind} here"

        def fields(kind, value, at):
            if (kind, at) in seen:
                return
            seen.add((kind, at))
            there, hints = dict(value["properties"]), get_type_hints(kind)
            for field in dataclasses.fields(kind):
                name = field.metadata.get("json", field.name)
                if name == "raw":
                    continue
                if name not in there:
                    yield f"{at}.{name} is in no schema"
                    continue
                yield from compare(hints[field.name], there.pop(name), name in value["required"], field.default, f"{at}.{name}")
            for name in there:
                if name not in only_raw:
                    yield f"{at}.{name} is in no class"

        return list(fields(root, schema, "$"))

    RAW = {"schema", "windows", "paper_windows", "gates", "earlier"}  # of a verdict; its users find them in raw

    @unittest.skipIf(MISSING, MISSING)
    def test_verdict(self):
        self.assertEqual(self.differences("verdict", verdict.Verdict, self.RAW), [])

    @unittest.skipIf(MISSING, MISSING)
    def test_comparison(self):
        self.assertEqual(self.differences("compare", comparison.Comparison, {"schema", "problems"}), [])

    @unittest.skipIf(MISSING, MISSING)
    def test_a_difference_is_found(self):
        """A field that lacks, one too many, and one of another type."""

        @dataclasses.dataclass(frozen=True)
        class Other(comparison.Comparison):
            colour: str = ""

        found = self.differences("compare", Other, {"schema"})
        self.assertEqual(found, ["$.colour is in no schema", "$.problems is in no class"])

        @dataclasses.dataclass(frozen=True)
        class Odd:
            seed: str
            gate: float

        self.assertEqual(self.differences("compare", Odd, set())[:2], ["$.seed is a integer, <class 'str'> here", "$.gate may be null"])

    def test_what_does_not_fit_is_named(self):
        whole = {"schema": verdict.SCHEMA}
        for text, line in (
            ("", "wrote no JSON"), ("[]", "schema is None"), ('{"schema": "sfstat.verdict/9"}', "'sfstat.verdict/9', expected 'sfstat.verdict/4'"),
            ('{"schema": "sfstat.verdict/3"}', "'sfstat.verdict/3', expected 'sfstat.verdict/4': the package and the program are of different versions"),
            (json.dumps(whole), r"^\$ has no run$"), (json.dumps(dict(whole, run=3)), r"^\$\.run is 3, expected str$"),
            (json.dumps(dict(whole, run="a", status="b", headline="c", why="", advice="", confidence="d", findings=[3])), r"^\$\.findings\[0\] is 3, expected an object$"),
        ):
            with self.subTest(text), self.assertRaisesRegex(sfstat.FormatError, line):
                decode.document(verdict.Verdict, text, verdict.SCHEMA)

    def test_hints_resolve(self):
        for kind in (verdict.Verdict, verdict.Finding, comparison.Comparison):
            self.assertTrue(get_type_hints(kind))


class ProgramTest(unittest.TestCase):
    """Where the program is found, and what happens where it fails."""

    def script(self, folder, text, name="sfstat"):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def test_order(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            on_path, named = self.script(folder, "echo path"), self.script(other, "echo named")
            with mock.patch.dict(os.environ, {"PATH": folder + os.pathsep + "/bin", "SFSTAT": named}):
                self.assertEqual(program.find(), named)
                del os.environ["SFSTAT"]
                with mock.patch("sysconfig.get_path", lambda name, scheme=None: other):
                    self.assertEqual(program.find(), named, "what a wheel installed stands before PATH")
                with mock.patch("sysconfig.get_path", lambda name, scheme=None: "/nowhere"):
                    self.assertEqual(program.find(), on_path)
                    self.assertEqual(program.run([]), "path\n")

    def test_not_there(self):
        with mock.patch.dict(os.environ, {"SFSTAT": "/nowhere/sfstat"}), self.assertRaisesRegex(sfstat.NotFoundError, "SFSTAT is '/nowhere/sfstat'"):
            program.find()

    def test_failures(self):
        with tempfile.TemporaryDirectory() as folder:
            for text, kind, code, line in (
                ("echo x: bad >&2; exit 2", sfstat.BadInputError, 2, "x: bad"), ("echo bug >&2; exit 1", sfstat.SfstatError, 1, "bug"),
                ("exit 7", sfstat.SfstatError, 7, "exit code 7 and said nothing"), ("kill -9 $$", sfstat.SfstatError, -9, "exit code -9"),
            ):
                with self.subTest(text), mock.patch.dict(os.environ, {"SFSTAT": self.script(folder, text)}):
                    with self.assertRaisesRegex(kind, line) as caught:
                        program.run([])
                    self.assertEqual((caught.exception.exit_code, type(caught.exception)), (code, kind))
            with mock.patch.dict(os.environ, {"SFSTAT": self.script(folder, "echo found; exit 3")}):
                self.assertEqual(program.run([]), "found\n")

    def test_batch_arguments(self):
        with mock.patch.object(program, "run", return_value="") as run:
            sfstat.batch(["a", "b"], "f.parquet", resume=True, shard=(2, 8))
        run.assert_called_once_with(["batch", "-o", "f.parquet", "--resume", "--shard", "2/8", "--", "a", "b"])
