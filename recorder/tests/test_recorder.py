"""What a loop does and what stands in the packets for it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import unittest

from sfstat_recorder import BACKWARD, CALLBACKS, DATA, FORWARD, OPTIMIZER, DataWait, OnFault, Recorder, StageError

from .support import Clock, packets, place, spend


class LoopTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.join(temporary.name, "run")
        self.clock = Clock()

    def recorder(self, **options):
        perf = Recorder(self.folder, place(), clock=self.clock, **options)
        self.addCleanup(perf.close)
        return perf

    def packets(self, perf):
        perf.close()
        return packets(self.folder)

    def spend(self, perf, stage, ns):
        spend(perf, self.clock, stage, ns)


class PlainLoop(LoopTest):
    def loader(self, waits):
        for i, ns in enumerate(waits):
            self.clock.spend(ns)
            yield i

    def test_durations_walls_and_residual(self):
        perf = self.recorder(window=2)
        for i in perf.batches(self.loader([5, 6, 7])):
            with perf.step():
                self.spend(perf, FORWARD, 10 + i)
                self.spend(perf, BACKWARD, 20)
                self.clock.spend(3)  # no stage
                self.spend(perf, OPTIMIZER, 1)
            self.clock.spend(4)  # between steps: of the step before
        first, second = self.packets(perf)
        self.assertEqual(first["durations_ns"], [[5, 10, 20, 0, 1], [6, 11, 20, 0, 1]])
        self.assertEqual(first["wall_ns"], [5 + 10 + 20 + 3 + 1 + 4, 6 + 11 + 20 + 3 + 1 + 4])
        self.assertEqual((first["first_step"], second["first_step"]), (0, 2))
        self.assertEqual((first["window"], second["window"]), (0, 1))
        # Nothing follows the last step: its wall ends with it.
        self.assertEqual((second["durations_ns"], second["wall_ns"]), ([[7, 12, 20, 0, 1]], [43]))
        self.assertNotIn("notes", first)

    def test_log(self):
        """Five scalars of every window, to whom the loop names; what raises is not called again."""
        perf, got = self.recorder(window=2), []
        perf.log(lambda scalars, step: got.append((step, scalars)))
        ms = 1_000_000
        with self.assertLogs("sfstat_recorder", "WARNING"):
            for i in perf.batches(self.loader([4 * ms, 6 * ms, 8 * ms, 8 * ms])):
                if i == 3:
                    perf.log(lambda scalars, step: 1 / 0)
                with perf.step():
                    self.spend(perf, FORWARD, 10 * ms)
                    self.spend(perf, BACKWARD, 20 * ms)
                self.clock.spend((5 + i) * ms)  # between steps
            perf.close()
        self.assertEqual([step for step, _ in got], [1])
        want = {"step_ms": 40.5, "step_p95_ms": 42, "data_ms": 5, "longest_stage_ms": 20, "outside_ms": 5.5}
        self.assertEqual({name: round(v, 6) for name, v in got[0][1].items()}, {"sfstat/" + name: v for name, v in want.items()})
        self.assertEqual(len(packets(self.folder)), 2)

    def test_steps_without_stages(self):
        perf = self.recorder()
        for _ in range(3):
            with perf.step():
                self.clock.spend(9)
        (packet,) = self.packets(perf)
        self.assertEqual(packet["durations_ns"], [[0] * 5] * 3)
        self.assertEqual(packet["wall_ns"], [9, 9, 9])

    def test_a_stage_in_pieces_adds_up(self):
        perf = self.recorder()
        with perf.step():
            self.spend(perf, FORWARD, 2)
            self.clock.spend(1)
            self.spend(perf, FORWARD, 3)
        (packet,) = self.packets(perf)
        self.assertEqual(packet["durations_ns"], [[0, 5, 0, 0, 0]])

    def test_the_end_of_the_loader_is_nobodys_wait(self):
        def epoch():
            yield from self.loader([5])
            self.clock.spend(1_000)  # the workers are stopped

        perf = self.recorder()
        for _ in range(2):
            for _ in perf.batches(epoch()):
                with perf.step():
                    self.spend(perf, FORWARD, 1)
        (packet,) = self.packets(perf)
        self.assertEqual([row[0] for row in packet["durations_ns"]], [5, 5])
        self.assertEqual(packet["wall_ns"], [5 + 1 + 1_000, 5 + 1])

    def test_a_loader_that_fails(self):
        def failing():
            yield 1
            raise KeyError("broken shard")

        perf = self.recorder()
        with self.assertRaises(KeyError):
            for _ in perf.batches(failing()):
                with perf.step():
                    pass
        self.assertEqual(len(self.packets(perf)), 1)

    def test_batches_is_the_loader_in_all_else(self):
        class Loader(list):
            batch_size = 32

        batches = self.recorder().batches(Loader([1, 2]))
        self.assertEqual((len(batches), batches.batch_size, list(batches)), (2, 32, [1, 2]))

    def test_numbered_steps(self):
        perf = self.recorder(first_step=7)
        for index in (None, 8, 20, None):
            with perf.step(index):
                self.clock.spend(1)
        got = [(p["first_step"], len(p["wall_ns"])) for p in self.packets(perf)]
        self.assertEqual(got, [(7, 2), (20, 2)])  # a gap closes the window

    def test_pause(self):
        perf = self.recorder()
        for _ in range(2):
            with perf.step():
                self.clock.spend(5)
            perf.pause()
            self.clock.spend(1_000)  # an evaluation
        got = self.packets(perf)
        self.assertEqual([p["wall_ns"] for p in got], [[5], [5]])
        self.assertEqual([p["first_step"] for p in got], [0, 1])

    def test_begin_and_end(self):
        perf = self.recorder()
        perf.begin_step()
        self.spend(perf, FORWARD, 4)
        perf.end_step()
        perf.end_step()  # one too many changes nothing
        self.assertEqual([p["wall_ns"] for p in self.packets(perf)], [[4]])

    def test_close_twice_and_use_after_it(self):
        perf = self.recorder(window=2)
        with perf.step():
            pass
        self.assertTrue(perf.close())
        self.assertTrue(perf.close())
        for _ in range(10):
            with perf.step():
                self.spend(perf, FORWARD, 1)
        self.assertLessEqual(len(perf._durations), 2 * 5)
        self.assertEqual(len(packets(self.folder)), 1)

    def test_environment(self):
        names = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "TORCHELASTIC_RESTART_COUNT": "2"}
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.update(names)
        perf = Recorder(self.folder, role={"dp": 3}, data_wait=DataWait.UNKNOWN)
        with perf.step():
            pass
        (packet,) = self.packets(perf)
        self.assertEqual((packet["run"], packet["rank"], packet["world_size"], packet["local_rank"]), ("run.2", 3, 8, 1))
        self.assertEqual((packet["role"], packet["data_wait"]), ({"dp": 3}, "unknown"))

    def test_arguments_that_make_no_sense(self):
        for options in (
            {"window": 0}, {"stages": []}, {"stages": ["a", "a"]}, {"stages": ["step.other_cpu_wall"]}, {"stages": "abc"},
            {"accumulation": 0}, {"accumulation": 2, "stages": ["a"]}, {"first_step": -1}, {"stages": ["x" * 600]},
            {"accumulation": 2, "stages": ["model.a", "b", "model.c"]},
        ):
            with self.subTest(options), self.assertRaises(ValueError):
                Recorder(self.folder, **options)
        for who in ({"rank": 2, "world_size": 2}, {"world_size": 0}, {"role": {"dp": -1}}):
            with self.subTest(who), self.assertRaises(ValueError):
                place().__class__(run="r", **who)


class Accumulation(LoopTest):
    STAGES = ["data.next_wait@0", FORWARD + "@0", BACKWARD + "@0", "data.next_wait@1", FORWARD + "@1", BACKWARD + "@1", CALLBACKS, OPTIMIZER]

    def test_going_back_begins_the_next_microstep(self):
        perf = self.recorder(accumulation=2)
        with perf.step():
            for micro in range(2):
                self.spend(perf, DATA, 1 + micro)
                self.spend(perf, FORWARD, 10 + micro)
                self.spend(perf, BACKWARD, 100 + micro)
            self.spend(perf, OPTIMIZER, 7)
        (packet,) = self.packets(perf)
        self.assertEqual(packet["stages"], self.STAGES)
        self.assertEqual(packet["durations_ns"], [[1, 10, 100, 2, 11, 101, 0, 7]])
        self.assertEqual(packet["accumulation"], 2)

    def test_explicit_index(self):
        perf = self.recorder(accumulation=2)
        with perf.step():
            self.spend(perf, FORWARD + "@1", 3)
            self.spend(perf, BACKWARD, 4)
            self.spend(perf, FORWARD + "@0", 5)  # goes back: left out
        (packet,) = self.packets(perf)
        self.assertEqual(packet["durations_ns"], [[0, 0, 0, 0, 3, 4, 0, 0]])
        self.assertIn("1 after a stage that comes later", packet["notes"][0])

    def test_more_microsteps_than_declared(self):
        perf = self.recorder(accumulation=2)
        with perf.step():
            for _ in range(3):
                self.spend(perf, FORWARD, 1)
                self.spend(perf, BACKWARD, 1)
        (packet,) = self.packets(perf)
        self.assertEqual(sum(packet["durations_ns"][0]), 4 + 1)  # the third backward continues the second
        self.assertEqual(packet["wall_ns"], [6])

    def test_another_number_of_microsteps_ends_the_window(self):
        perf = self.recorder(accumulation=2)
        for count in (2, 2, 1, 1, 2):
            with perf.step():
                for _ in range(count):
                    self.spend(perf, FORWARD, 1)
                    self.spend(perf, BACKWARD, 10)
        found = self.packets(perf)
        self.assertEqual([(p["window"], p["first_step"], len(p["durations_ns"])) for p in found], [(0, 0, 2), (1, 2, 2), (2, 4, 1)])
        self.assertEqual([p["wall_ns"] for p in found], [[22, 22], [11, 11], [22]])
        self.assertEqual(found[1]["durations_ns"], [[0, 1, 10, 0, 0, 0, 0, 0]] * 2)

    def test_summed_microsteps_do_not_end_it(self):
        perf = self.recorder(accumulation=2, repeated=())
        for count in (2, 1):
            with perf.step():
                for _ in range(count):
                    self.spend(perf, FORWARD, 1)
        (packet,) = self.packets(perf)
        self.assertEqual(len(packet["durations_ns"]), 2)

    def test_chosen_stages_repeat(self):
        perf = self.recorder(accumulation=2, repeated=(FORWARD, BACKWARD))
        with perf.step():
            pass
        (packet,) = self.packets(perf)
        self.assertEqual(packet["stages"], [DATA, FORWARD + "@0", BACKWARD + "@0", FORWARD + "@1", BACKWARD + "@1", CALLBACKS, OPTIMIZER])

    def test_data_wait_before_the_step_and_inside(self):
        perf = self.recorder(accumulation=2)
        self.spend(perf, DATA, 1)
        with perf.step():
            self.spend(perf, BACKWARD, 2)
            self.spend(perf, DATA, 3)
            self.spend(perf, BACKWARD, 4)
        (packet,) = self.packets(perf)
        self.assertEqual(packet["durations_ns"], [[1, 0, 2, 3, 0, 4, 0, 0]])
        self.assertEqual(packet["wall_ns"], [10])


class Prefetch(LoopTest):
    """A loop that asks for the next batch while it works on this one."""

    def loop(self, perf, waits, steps, ahead):
        def loader():
            for ns in waits:
                self.clock.spend(ns)
                yield None

        batches = iter(perf.batches(loader(), ahead=ahead))
        for _ in range(ahead):
            next(batches)
        for _ in range(steps):
            with perf.step():
                self.spend(perf, FORWARD, 1_000)
                next(batches, None)
                self.spend(perf, BACKWARD, 2_000)

    def test_a_wait_is_charged_to_the_step_that_consumes(self):
        for ahead in (1, 2):
            with self.subTest(ahead=ahead):
                self.folder += str(ahead)
                perf = self.recorder()
                self.loop(perf, [3, 5, 700, 11, 13, 17], 4, ahead)
                (packet,) = self.packets(perf)
                self.assertEqual([row[0] for row in packet["durations_ns"]], [3, 5, 700, 11])
                # The wall time moves along: nothing overlaps, nothing is residual.
                self.assertEqual(packet["wall_ns"], [sum(row) for row in packet["durations_ns"]])

    def test_with_accumulation(self):
        perf = self.recorder(accumulation=2)
        waits = iter([3, 5, 7, 11, 13])

        def fetch():
            with perf.data_wait(ahead=1):
                self.clock.spend(next(waits))

        fetch()
        for _ in range(2):
            with perf.step():
                for _ in range(2):
                    self.spend(perf, FORWARD, 100)
                    fetch()
                    self.spend(perf, BACKWARD, 200)
        (packet,) = self.packets(perf)
        self.assertEqual([(row[0], row[3]) for row in packet["durations_ns"]], [(3, 5), (7, 11)])
        self.assertEqual(packet["wall_ns"], [sum(row) for row in packet["durations_ns"]])

    def test_batches_without_steps_are_forgotten(self):
        perf = self.recorder()
        for _ in range(100):
            with perf.data_wait(ahead=2):
                self.clock.spend(1)
        self.assertLessEqual(len(perf._ahead), 3)


class Faults(LoopTest):
    """Spans that cannot be recorded are left out, and the packet says so."""

    def check(self, perf, durations, said):
        (packet,) = self.packets(perf)
        self.assertEqual(packet["durations_ns"], durations)
        (note,) = packet["notes"]
        self.assertIn(said, note)
        self.assertTrue(note.startswith("rank 0 left out 1 span:"), note)
        for row, wall in zip(packet["durations_ns"], packet["wall_ns"]):
            self.assertLessEqual(sum(row), wall)

    def test_nested(self):
        perf = self.recorder()
        with perf.step():
            with perf.stage(FORWARD):
                self.clock.spend(1)
                self.spend(perf, BACKWARD, 2)
                self.clock.spend(4)
        self.check(perf, [[0, 7, 0, 0, 0]], "1 inside another stage; the first: %s in %s in step 0" % (BACKWARD, FORWARD))

    def test_reentered(self):
        perf = self.recorder()
        with perf.step():
            with perf.stage(FORWARD):
                self.clock.spend(1)
                self.spend(perf, FORWARD, 2)
                self.clock.spend(4)
        self.check(perf, [[0, 7, 0, 0, 0]], "1 inside another stage")

    def test_order(self):
        perf = self.recorder()
        with perf.step():
            self.spend(perf, BACKWARD, 1)
            self.spend(perf, FORWARD, 2)
            self.spend(perf, OPTIMIZER, 4)
        self.check(perf, [[0, 0, 1, 0, 4]], "1 after a stage that comes later in the list")

    def test_unknown(self):
        perf = self.recorder()
        with perf.step():
            with perf.stage("model.fwd"):
                self.spend(perf, FORWARD, 2)  # counts: nothing is open
        self.check(perf, [[0, 2, 0, 0, 0]], "1 of a stage that is not in the list; the first: model.fwd in step 0")

    def test_outside(self):
        perf = self.recorder()
        with perf.step():
            self.spend(perf, FORWARD, 1)
        self.spend(perf, CALLBACKS, 2)
        self.check(perf, [[0, 1, 0, 0, 0]], "1 outside a step")

    def test_thread(self):
        perf = self.recorder()
        with perf.step():
            with perf.stage(FORWARD):
                other = threading.Thread(target=self.spend, args=(perf, FORWARD, 1))
                other.start()
                other.join()
                self.clock.spend(2)
        self.check(perf, [[0, 3, 0, 0, 0]], "1 in another thread")

    def test_thread_while_nothing_is_open(self):
        perf = self.recorder()
        with perf.step():
            other = threading.Thread(target=self.spend, args=(perf, FORWARD, 1))
            other.start()
            other.join()
            self.spend(perf, FORWARD, 2)
        self.check(perf, [[0, 2, 0, 0, 0]], "1 in another thread")

    def test_step_in_a_step(self):
        perf = self.recorder()
        with perf.step():
            with perf.step(55):
                self.spend(perf, FORWARD, 1)
            self.spend(perf, BACKWARD, 2)
        self.check(perf, [[0, 1, 2, 0, 0]], "1 a step inside a step")

    def test_unclosed(self):
        perf = self.recorder()
        with perf.step():
            perf.stage(FORWARD).__enter__()  # as a generator that is never resumed does
            self.clock.spend(1)
        self.check(perf, [[0, 0, 0, 0, 0]], "1 still open when the step ended")

    def test_raise(self):
        perf = self.recorder(on_fault=OnFault.RAISE)
        with perf.step():
            with perf.stage(FORWARD):
                with self.assertRaisesRegex(StageError, "step 0: .* is inside another stage"):
                    with perf.stage(BACKWARD):
                        pass
                self.clock.spend(1)
            with self.assertRaises(StageError):
                with perf.stage("no such stage"):
                    pass
            with self.assertRaises(StageError):
                with perf.step():
                    pass
        (packet,) = self.packets(perf)
        self.assertEqual(packet["durations_ns"], [[0, 1, 0, 0, 0]])

    def test_another_thread_may_train(self):
        perf = self.recorder()

        def train():
            with perf.step():
                self.spend(perf, FORWARD, 3)

        trainer = threading.Thread(target=train)
        trainer.start()
        trainer.join()
        (packet,) = self.packets(perf)
        self.assertEqual(packet["durations_ns"], [[0, 3, 0, 0, 0]])
        self.assertNotIn("notes", packet)


class Exceptions(LoopTest):
    def test_inside_a_stage_that_the_step_survives(self):
        perf = self.recorder()
        with perf.step():
            with self.assertRaises(ZeroDivisionError):
                with perf.stage(FORWARD):
                    self.clock.spend(3)
                    raise ZeroDivisionError
            self.spend(perf, BACKWARD, 4)
        (packet,) = self.packets(perf)
        self.assertEqual(packet["durations_ns"], [[0, 3, 4, 0, 0]])

    def test_out_of_a_step(self):
        perf = self.recorder()
        for i in range(4):
            try:
                with perf.step():
                    self.spend(perf, FORWARD, 1 + i)
                    if i == 2:
                        raise MemoryError
            except MemoryError:
                self.clock.spend(1_000)
        first, second = self.packets(perf)
        self.assertEqual((first["durations_ns"], first["wall_ns"]), ([[0, 1, 0, 0, 0], [0, 2, 0, 0, 0]], [1, 2]))
        self.assertEqual((second["durations_ns"], second["first_step"]), ([[0, 4, 0, 0, 0]], 2))
        self.assertIn("1 a step that an exception ended", first["notes"][0])

    def test_a_loop_that_ends_inside_a_step(self):
        perf = self.recorder()
        batches = iter(range(2))
        with self.assertRaises(StopIteration):
            while True:
                with perf.step():
                    with perf.stage(DATA):
                        next(batches)
                    self.spend(perf, FORWARD, 1)
        (packet,) = self.packets(perf)
        self.assertEqual(len(packet["wall_ns"]), 2)
        self.assertNotIn("notes", packet)


class Memory(unittest.TestCase):
    def test_many_steps_with_a_writer_that_never_gets_on(self):
        """The queue fills, windows are dropped, the memory stays."""
        program = """if True:
            import os, resource, sys, threading
            from sfstat_recorder import Identity, Recorder, FORWARD
            class Stuck:
                def tell(self, message): threading.Event().wait()
            perf = Recorder(sys.argv[1], Identity("run", 0, 2), window=1000, group=Stuck())
            def run(steps):
                for _ in range(steps):
                    with perf.step():
                        with perf.stage(FORWARD):
                            pass
                        with perf.stage("no such stage"):
                            pass
                return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            before = run(50_000)
            after = run(400_000)
            unit = 1 if sys.platform == "darwin" else 1024
            print((after - before) * unit, perf._writer.losses.total, flush=True)
            os._exit(0)
        """
        with tempfile.TemporaryDirectory() as folder:
            out = subprocess.run([sys.executable, "-c", program, folder], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
        grown, lost = map(int, out.stdout.split())
        self.assertLess(grown, 8 << 20)  # all steps would be 18 MiB
        self.assertGreaterEqual(lost, 440)


if __name__ == "__main__":
    unittest.main()
