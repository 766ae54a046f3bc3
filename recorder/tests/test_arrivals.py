"""When ranks entered collectives: rings, their readings, and the packet's field."""

from __future__ import annotations

import itertools
import pickle
import sys
import tempfile
import time
import types
import unittest
from array import array
from unittest import mock

from sfstat_recorder import BACKWARD, CALLBACKS, DATA, FORWARD, Identity, Recorder
from sfstat_recorder.arrivals import CallRing, Entry, FlightRecorder, Messages, Reading, Timing, Watcher, pack, watcher

from .support import Clock, packets, spend


def entry(record, enter_ns, group="0", op="gloo:all_reduce", seq=1, elements=8):
    return Entry(record, enter_ns, group, "default_pg", op, seq, elements)


class FakeRing:
    """Holds the last ``size`` entries."""

    source = "flight_recorder"

    def __init__(self, size=100):
        self.size = size
        self.entries = []
        self.reads = 0

    def add(self, *times):
        for at in times:
            self.entries.append(entry(len(self.entries), at, seq=len(self.entries) + 1))

    def read(self):
        self.reads += 1
        held = self.entries[-self.size:]
        return Reading(range(held[0].record, held[-1].record + 1) if held else range(0), [e for e in held if e.group != "own"], {"0": [0, 1]})


class FlightRecorderTest(unittest.TestCase):
    RAW = {
        "record_id": 5, "pg_id": 1, "process_group": ("1", "dp"), "collective_seq_id": 3, "p2p_seq_id": 0, "op_id": 3,
        "profiling_name": "gloo:all_reduce", "time_created_ns": 1795324821999931496, "input_sizes": [[4, 2], [7]], "is_p2p": False,
    }

    def read(self, *raws, own=()):
        return FlightRecorder(lambda: pickle.dumps({"version": "2.10", "entries": list(raws)}), lambda: {"1": [2, 5]}, lambda: own).read()

    def test_an_entry(self):
        got = self.read(self.RAW)
        self.assertEqual(got.entries, [Entry(5, 1795324821999931496, "1", "dp", "gloo:all_reduce", 3, 8)])
        self.assertEqual(got.members, {"1": [2, 5]})

    def test_groups_that_were_destroyed_keep_their_members(self):
        registry = {"1": [2, 5]}
        ring = FlightRecorder(lambda: pickle.dumps({"version": "2.10", "entries": [self.RAW]}), lambda: registry.copy(), lambda: ())
        registry.clear()
        self.assertEqual(ring.read().members, {"1": [2, 5]})

    def test_a_message_is_numbered_among_messages(self):
        raw = dict(self.RAW, is_p2p=True, p2p_seq_id=9, profiling_name="nccl:send 1->2")
        self.assertEqual(self.read(raw).entries[0].seq, 9)

    def test_what_old_versions_lack(self):
        old = {"id": 7, "time_created_ns": 12, "profiling_name": "nccl:all_reduce"}
        self.assertEqual(self.read(old).entries, [Entry(7, 12, "", "", "nccl:all_reduce", -1, -1)])
        self.assertEqual(self.read({"id": 7}).entries, [])
        self.assertEqual(FlightRecorder(lambda: pickle.dumps({}), dict, tuple).read().entries, [])

    def test_groups_of_the_recorder_are_left_out(self):
        self.assertEqual(self.read(self.RAW, own=("1",)).entries, [])

    def test_nothing_is_imported_to_look_for_a_ring(self):
        if "torch" in sys.modules:
            self.skipTest("PyTorch is loaded already")
        self.assertIsNone(FlightRecorder.detect())
        self.assertNotIn("torch", sys.modules)


class PauseTest(unittest.TestCase):
    def test_what_is_left_after_a_pause_is_written(self):
        """Trainers pause at the end of an epoch, and then close: the window
        before the pause is the last.
        """
        class Slow(FakeRing):
            def read(self):
                time.sleep(0.002)  # so that its next reading is not due
                return super().read()

        for epochs in (1, 3):
            with self.subTest(epochs=epochs), tempfile.TemporaryDirectory() as folder:
                ring = Slow()
                with mock.patch("sfstat_recorder.recorder.watcher", lambda *_: Watcher(lambda: ring, 5)):
                    perf = Recorder(folder, Identity("run"), window=4)
                for _ in range(epochs):
                    for _ in range(6):
                        with perf.step(), perf.stage(BACKWARD):
                            ring.add(time.time_ns())
                            time.sleep(1e-4)
                    perf.pause()
                    perf.pause()
                time.sleep(0.05)  # in which a writer that has the window would write it
                perf.close()
                got = packets(folder)
                self.assertEqual([len(p["wall_ns"]) for p in got], [4, 2] * epochs)
                self.assertEqual(sum(len(p.get("arrivals", {}).get("seq", ())) for p in got), 6 * epochs)


class WatcherTest(unittest.TestCase):
    """Two stages; the recorder's clock is 1,000 s behind the epoch."""

    BEHIND = 1_000_000_000_000

    def setUp(self):
        self.ring = FakeRing()
        self.clock = Clock(0)
        self.watcher = Watcher(lambda: self.ring, 2, self.clock, lambda: self.clock.now + self.BEHIND)

    def window(self, first, starts, begins, durations, walls):
        self.watcher.window(first, Timing(array("q", starts), array("q", begins)), array("q", durations), array("q", walls))

    def placed(self, *times):
        self.ring.add(*(t + self.BEHIND for t in times))
        got = self.watcher.take_all()
        return [(step, stage) for _, step, stage in got.entries]

    def test_step_and_stage(self):
        ms = 1_000_000
        # Steps at 10 and 20 ms; stages at +0 (3 ms) and +4 (5 ms).
        self.window(7, [10 * ms, 20 * ms], [10 * ms, 14 * ms, 20 * ms, 24 * ms], [3 * ms, 5 * ms] * 2, [10 * ms, 10 * ms])
        self.assertEqual(self.placed(5 * ms, 11 * ms, 13.5 * ms, 15 * ms, 19.5 * ms, 24 * ms, 40 * ms),
                         [(-1, -1), (7, 0), (7, -1), (7, 1), (7, -1), (8, 1), (-1, -1)])

    def test_a_ring_of_a_job_that_ends_before_its_first_window(self):
        there = [self.ring]
        self.watcher = Watcher(lambda: there[0], 2, self.clock, lambda: self.clock.now + self.BEHIND)
        there[0] = None  # destroy_process_group
        self.window(0, [10], [10, -1], [5, 0], [10])
        self.assertEqual(self.placed(11), [(0, 0)])

    def test_a_stage_that_was_not_entered(self):
        self.window(0, [0], [-1, 500_000], [0, 400_000], [1_000_000])
        self.assertEqual(self.placed(100_000, 600_000), [(0, -1), (0, 1)])

    def test_entries_of_earlier_windows_keep_their_steps(self):
        self.window(0, [0], [0, 5], [5, 5], [1_000_000])
        self.window(1, [1_000_000], [1_000_000, 1_500_000], [400_000, 400_000], [1_000_000])
        self.assertEqual(self.placed(100, 1_600_000), [(0, 1), (1, 1)])

    def test_each_entry_is_taken_once_and_losses_are_counted(self):
        self.ring.size = 4
        self.ring.add(1, 2, 3)
        self.assertEqual([e.record for e, _, _ in self.watcher.take_all().entries], [0, 1, 2])
        self.assertIsNone(self.watcher.take_all())
        self.ring.add(*range(10))
        got = self.watcher.take_all()
        self.assertEqual(([e.record for e, _, _ in got.entries], got.lost), ([9, 10, 11, 12], 6))

    def test_the_recorders_own_entries_are_not_lost(self):
        self.ring.add(1, 2)
        self.watcher.take_all()
        self.ring.entries += [entry(record, 3, group="own") for record in (2, 3, 4)]
        self.ring.add(5)
        got = self.watcher.take_all()
        self.assertEqual(([e.record for e, _, _ in got.entries], got.lost), ([5], 0))

    def test_what_the_ring_lost_before_the_first_reading_is_not_ours(self):
        self.ring.size = 2
        self.ring.add(1, 2, 3, 4)
        self.assertEqual(self.watcher.take_all().lost, 0)

    def test_entries_wait_for_their_window(self):
        self.window(0, [0], [0, 5], [5, 5], [1_000_000])
        self.ring.add(100 + self.BEHIND, 1_000_100 + self.BEHIND)
        self.assertEqual([step for _, step, _ in self.watcher.take().entries], [0])
        self.window(1, [1_000_000], [1_000_000, 1_000_050], [50, 500_000], [1_000_000])
        self.watcher._cost = 0
        self.assertEqual([step for _, step, _ in self.watcher.take().entries], [1])

    def test_groups_that_were_destroyed_keep_their_members(self):
        self.ring.add(1)
        self.watcher.take_all()
        self.ring.read = lambda: Reading(range(1, 2), [entry(1, 2)], {})
        self.assertEqual(self.watcher.take_all().members, {"0": [0, 1]})

    def test_reading_keeps_to_its_budget(self):
        self.ring.add(1)
        self.watcher.take()
        self.watcher._cost = 3600.0  # the next reading is due in 3600 s / BUDGET
        self.ring.add(2)
        self.assertIsNone(self.watcher.take())
        self.assertEqual(self.ring.reads, 1)
        self.assertEqual(len(self.watcher.take_all().entries), 1)

    def test_a_ring_that_fails_is_given_up(self):
        def broken():
            raise RuntimeError("no ring")

        self.ring.read = broken
        with self.assertLogs("sfstat_recorder", "WARNING") as log:
            for _ in range(10):
                self.assertIsNone(self.watcher.take_all())
        self.assertEqual(len(log.output), 3)

    def test_memory_is_bounded(self):
        for i in range(30):
            self.window(i * 1000, range(i * 1000, i * 1000 + 1000), [0] * 2000, [0] * 2000, [1] * 1000)
        self.assertEqual(len(self.watcher._rows), 20_000)


class PackTest(unittest.TestCase):
    def test_columns(self):
        w = Watcher(lambda: ring, 1)
        ring = FakeRing()
        ring.entries = [entry(0, 1_000, seq=1), entry(1, 1_250, group="3", op="nccl:send 0->1", seq=1, elements=-1), entry(2, 1_300, seq=2)]
        got = pack(w.take_all())
        self.assertEqual(got, {
            "version": 1, "source": "flight_recorder", "lost": 0,
            "groups": [{"name": "0", "desc": "default_pg", "ranks": [0, 1]}, {"name": "3", "desc": "default_pg"}],
            "ops": ["gloo:all_reduce", "nccl:send 0->1"],
            "step": [-1, -1, -1], "stage": [-1, -1, -1], "group": [0, 1, 0], "op": [0, 1, 0],
            "seq": [1, 1, 2], "elements": [8, -1, 8], "enter_ns": [1000, 250, 50],
        })


class CallRingTest(unittest.TestCase):
    def setUp(self):
        def reduce(tensor, group=None):
            return self.dist.broadcast(tensor)  # a call inside a call is not a second one

        self.dist = types.SimpleNamespace(is_available=lambda: True, all_reduce=reduce, broadcast=lambda tensor, group=None: tensor + 1)
        times = itertools.count(100, 10)
        self.before = self.dist.all_reduce
        self.ring = CallRing(self.dist, clock=lambda: next(times))

    def test_calls(self):
        self.assertEqual(self.dist.all_reduce(1), 2)
        self.assertEqual(self.dist.broadcast(1, group=types.SimpleNamespace(group_name="7")), 2)
        self.dist.broadcast(1)
        self.assertEqual([(e.record, e.enter_ns, e.group, e.op, e.seq) for e in self.ring.read().entries],
                         [(0, 100, "0", "all_reduce", 1), (1, 110, "7", "broadcast", 1), (2, 120, "0", "broadcast", 2)])

    def test_messages(self):
        self.ring.remove()

        class Work:
            def wait(self):
                return True

        class Group:
            group_name = "0"

            def send(self, tensors, dstRank, tag):
                return Work()

            def recv(self, tensors, srcRank, tag):
                return Work()

        self.dist.ProcessGroup, self.dist.Work = Group, Work
        world, other = Group(), Group()
        other.group_name = "7"
        self.dist.group = types.SimpleNamespace(WORLD=world)
        self.dist.get_rank = lambda group: 1 if group is world else 0
        methods = Group.send, Group.recv, Work.wait
        ring = CallRing(self.dist, clock=itertools.count(100, 10).__next__)
        posted = world.recv(["x"], 0, 0)  # noted when it is waited for
        world.send(["x"], 3, 0).wait()
        other.send(["x"], dstRank=1, tag=0)
        self.dist.all_reduce(1)
        self.assertTrue(posted.wait())
        posted.wait()  # a second time, and no second receive
        other.recv(["x"], 1, 0).wait()
        self.assertEqual({(e.group, e.desc) for e in ring.read().entries}, {("0", "default_pg"), ("7", "")})
        self.assertEqual([(e.enter_ns, e.group, e.op, e.seq) for e in ring.read().entries],
                         [(100, "0", "send 1->3", 1), (120, "7", "send 0->1", 1), (130, "0", "all_reduce", 1),
                          (140, "0", "recv 1<-0", 2), (160, "7", "recv 0<-1", 2)])
        self.assertEqual([e.held_ns for e in ring.read().entries], [10, -1, -1, 10, 10])
        ring.remove()
        self.assertEqual((Group.send, Group.recv, Work.wait), methods)

    def test_a_batch_is_waited_for_as_a_whole(self):
        """Who waits for a send has entered the receives posted since, and no others."""

        class Work:
            def wait(self):
                return True

        class Group:
            group_name = "0"

            def send(self, tensors, dstRank, tag):
                return Work()

            def recv(self, tensors, srcRank, tag):
                return Work()

        self.dist.ProcessGroup, self.dist.Work, self.dist.get_rank = Group, Work, lambda group: 1
        messages = Messages(self.dist, clock=itertools.count(100, 10).__next__)
        group = Group()
        early = group.recv(["x"], 3, 0)
        works = group.send(["x"], 2, 0), group.recv(["x"], 0, 0)
        for work in works:
            work.wait()
        early.wait()
        got, whole = messages.taken()
        self.assertEqual([(e.enter_ns, e.op, e.held_ns) for e in got], [(100, "send 1->2", 20), (110, "recv 1<-0", 20), (140, "recv 1<-3", 10)])
        self.assertEqual((whole, messages.taken()), (True, ([], True)))

        raw = dict(FlightRecorderTest.RAW, process_group=("0", ""), time_created_ns=165)
        ring = FlightRecorder(lambda: pickle.dumps({"entries": [raw], "pg_status": {"0": {"last_enqueued_collective": 9}}}), dict, tuple, messages)
        group.send(["x"], 2, 0)
        watcher = Watcher(lambda: ring, 0, clock=lambda: 0, epoch=lambda: 0)
        got = watcher.take_all()
        self.assertEqual(([e.op for e, _, _ in got.entries], got.silent), (["send 1->2", "gloo:all_reduce"], set()))
        messages.remove()

    def test_remove(self):
        self.ring.remove()
        self.assertIs(self.dist.all_reduce, self.before)

    def test_a_call_that_raises(self):
        self.dist.broadcast(1)
        with self.assertRaises(TypeError):
            self.dist.broadcast("text")
        self.dist.broadcast(1)
        self.assertEqual(len(self.ring.read().entries), 3)


class RecorderTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def record(self, ring, **options):
        clock = Clock()
        perf = Recorder(self.folder, Identity("run", 0, 2), window=2, clock=clock, **options)
        if ring is not None:
            perf._writer._arrivals = Watcher(lambda: ring, perf.stages.count, clock, clock)
        for _ in range(4):
            spend(perf, clock, DATA, 1_000_000)
            with perf.step():
                spend(perf, clock, FORWARD, 1_000_000)
                with perf.stage(BACKWARD):
                    clock.spend(500_000)
                    if ring is not None:
                        ring.add(clock.now)
                    clock.spend(500_000)
                spend(perf, clock, CALLBACKS, 200_000)
        perf.close()
        return packets(self.folder)

    def test_every_entry_is_written_once_with_its_stage(self):
        got = self.record(FakeRing())
        steps = [s for p in got for s in p.get("arrivals", {}).get("step", [])]
        stages = [p["stages"][s] for p in got for s in p.get("arrivals", {}).get("stage", [])]
        self.assertEqual((steps, set(stages)), ([0, 1, 2, 3], {BACKWARD}))

    def test_epoch_and_lines(self):
        first, second = self.record(FakeRing())
        self.assertEqual(second["epoch_ns"] - first["epoch_ns"], sum(first["wall_ns"]))
        self.assertRegex(first["lines"][BACKWARD], r"^test_arrivals\.py:\d+$")

    def test_without_arrivals_nothing_is_added(self):
        for p in self.record(None, arrivals=False):
            self.assertFalse({"epoch_ns", "arrivals", "lines"} & set(p))

    def test_a_ring_that_is_not_there(self):
        for p in self.record(None):
            self.assertNotIn("arrivals", p)

    def test_auto_wraps_calls_where_a_group_has_no_ring(self):
        for initialized, want in ((False, None), (True, "calls")):
            with self.subTest(initialized=initialized):
                dist = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: initialized, get_backend=lambda: "gloo", all_reduce=len)
                with mock.patch.dict(sys.modules, {"torch.distributed": dist, "torch._C._distributed_c10d": types.SimpleNamespace()}):
                    ring = watcher("auto", 1, Clock(), tuple)._ring
                self.assertEqual(getattr(ring, "source", None), want)
                self.assertEqual(dist.all_reduce is len, want is None)

    def test_what_cannot_be_asked_for(self):
        with self.assertRaisesRegex(ValueError, "arrivals is 'on'"):
            watcher("on", 1, Clock(), tuple)


if __name__ == "__main__":
    unittest.main()
