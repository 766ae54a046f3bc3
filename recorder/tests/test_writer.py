"""Gathering, files, and what happens when they fail. Training goes on, and
the packets say so.
"""

from __future__ import annotations

import errno
import gc
import json
import logging
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

from sfstat_recorder import FORWARD, Cost, Identity, Recorder
from sfstat_recorder.files import PacketFile

from .support import Clock, Hub, packets, place, ranks, spend, until


class FolderTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.join(temporary.name, "run")
        logging.getLogger("sfstat_recorder").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("sfstat_recorder").setLevel, logging.NOTSET)

    def names(self):
        return sorted(os.listdir(self.folder))


def train(perf, steps, clock=None):
    """Some steps; the number tells them apart."""
    clock = clock or perf._clock
    for i in range(steps):
        with perf.step():
            spend(perf, clock, FORWARD, 1 + i)


class Gathering(FolderTest):
    def job(self, hub, body, **options):
        """body(rank, recorder, group) on all ranks; the recorders are closed."""

        def one(rank):
            group = hub.rank(rank)
            perf = Recorder(self.folder, place(rank, hub.world), window=2, group=group, clock=Clock(), **options)
            body(rank, perf, group)
            perf.close(timeout_s=20)

        ranks(hub.world, one)
        return packets(self.folder)

    def test_rank_0_writes_all(self):
        got = self.job(Hub(4), lambda rank, perf, group: train(perf, 5))
        self.assertEqual(self.names(), ["run.jsonl"])
        self.assertEqual([(p["window"], p["rank"]) for p in got], [(w, r) for w in range(3) for r in range(4)])
        self.assertTrue(all(p["gather_ok"] for p in got))

    def test_in_the_file_ranks_are_in_order(self):
        self.job(Hub(4), lambda rank, perf, group: train(perf, 5))
        with open(os.path.join(self.folder, "run.jsonl")) as f:
            order = [(p["window"], p["rank"]) for p in map(json.loads, f)]
        self.assertEqual(order, sorted(order))

    def check_fallback(self, got, world, failed):
        """Every window is there once for every rank, and one is marked."""
        self.assertEqual(sorted((p["window"], p["rank"]) for p in got), sorted({(p["window"], p["rank"]) for p in got}))
        for p in got:
            self.assertEqual(p["gather_ok"], p["window"] != failed, p)
            if p["window"] == failed:
                self.assertEqual(p["notes"], ["gathering ended here (TimeoutError): every rank writes its own file from here on"])

    def test_a_rank_hangs(self):
        hub = Hub(3, timeout_s=0.2)
        took = {}

        def body(rank, perf, group):
            if rank == 2:
                group.before = lambda call: time.sleep(1.0) if call == "tell" and group._calls == 3 else None
            begin = time.monotonic()
            train(perf, 7)
            took[rank] = time.monotonic() - begin

        got = self.job(hub, body)
        self.check_fallback(got, 3, failed=1)
        self.assertEqual(len(got), 3 * 4)
        self.assertEqual(self.names(), ["run.jsonl", "run.rank00000.jsonl", "run.rank00001.jsonl", "run.rank00002.jsonl"])
        self.assertLess(max(took.values()), 0.2)  # no step waited

    def test_rank_0_dies(self):
        hub = Hub(3, timeout_s=0.2)

        class Gone(BaseException):
            pass

        def body(rank, perf, group):
            if rank == 0:
                def die(call):
                    if group._calls >= 3:
                        threading.Event().wait()  # never comes back
                group.before = die
            train(perf, 7)
            if rank == 0:
                perf.close(timeout_s=0.1)

        got = self.job(hub, body)
        self.assertEqual({p["window"] for p in got if p["rank"] == 0}, {0})
        rest = [p for p in got if p["rank"] > 0]
        self.check_fallback(rest, 3, failed=1)
        self.assertEqual(len(rest), 2 * 4)

    def test_rank_0_is_late(self):
        """Late by more than the others wait: nothing is written twice."""
        hub = Hub(3, timeout_s=0.2)

        def body(rank, perf, group):
            if rank == 0:
                group.before = lambda call: time.sleep(0.6) if call == "tell" and group._calls == 3 else None
            train(perf, 7)

        got = self.job(hub, body)
        self.assertEqual(len(got), 3 * 4)
        self.assertEqual(len({(p["window"], p["rank"]) for p in got}), 3 * 4)

    def test_rank_0_cannot_write(self):
        """The others still can: each writes its own."""
        hub = Hub(2)
        append = PacketFile.append

        def full(file, lines):
            if file._name == "run":
                raise OSError(errno.ENOSPC, "No space left on device")
            append(file, lines)

        with mock.patch.object(PacketFile, "append", full):
            got = self.job(hub, lambda rank, perf, group: train(perf, 3))
        self.assertEqual([(p["window"], p["rank"], p["gather_ok"]) for p in got], [(w, r, False) for w in range(2) for r in range(2)])
        self.assertEqual(got[0]["notes"], ["rank 0 could not write what it had gathered"])

    def test_a_rank_that_dropped_windows_stays_in_line(self):
        hub = Hub(2)
        gate = threading.Event()

        def body(rank, perf, group):
            if rank == 1:
                perf._writer._capacity = 1
                group.before = lambda call: gate.wait()
                train(perf, 2 * 6)  # window 0 at the gate, 1 in the queue, the others lost
                gate.set()
                until(lambda: perf._writer._queue.empty())
                train(perf, 2)
                until(lambda: perf._writer._queue.empty())
                train(perf, 1)
            else:
                train(perf, 2 * 7 + 1)

        got = self.job(hub, body, queue=16)
        there = {r: [p["window"] for p in got if p["rank"] == r] for r in (0, 1)}
        self.assertTrue(all(p["gather_ok"] for p in got))
        self.assertEqual(there[1][0], 0)
        lost = set(range(8)) - set(there[1])
        self.assertGreaterEqual(len(lost), 3)
        self.assertEqual(there[0], list(range(8)))
        said = [n for p in got for n in p.get("notes", ())]
        counts = [re.fullmatch(r"rank 1 lost (\d+) windows? before this one: the queue of its writer was full", n) for n in said]
        self.assertEqual(sum(int(c.group(1)) for c in counts), len(lost), said)

    def test_one_rank_needs_no_group(self):
        perf = Recorder(self.folder, place(), group=Hub(1).rank(0), clock=Clock())
        train(perf, 1)
        perf.close()
        self.assertEqual(self.names(), ["run.rank00000.jsonl"])


class Files(FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.clock = Clock()

    def recorder(self, **options):
        return Recorder(self.folder, place(), window=2, clock=self.clock, **options)

    def test_a_disk_that_is_full_for_a_while(self):
        """The limit on the size of files makes real short writes."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        perf = self.recorder()
        path = os.path.join(self.folder, "run.rank00000.jsonl")
        train(perf, 3)
        self.assertTrue(until(lambda: os.path.exists(path) and os.path.getsize(path) > 0))
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path) + 40, before[1]))
            train(perf, 4)  # windows 1 and 2
            self.assertTrue(until(lambda: perf._writer.losses.total == 2))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        train(perf, 1)
        self.assertFalse(perf.close())
        got = packets(self.folder)
        self.assertEqual([p["window"] for p in got], [0, 3])
        self.assertEqual(got[1]["notes"], ["rank 0 lost 2 windows before this one: OSError: [Errno 27] File too large"])

    def test_a_folder_that_cannot_be_made(self):
        with open(self.folder, "w"):
            pass  # a file stands where the folder should
        perf = self.recorder()
        train(perf, 5)
        self.assertFalse(perf.close())
        self.assertEqual(perf.identity.run, "run")

    def test_no_file_is_written_over(self):
        for _ in range(3):
            perf = self.recorder()
            train(perf, 1)
            self.assertTrue(perf.close())
        self.assertEqual(self.names(), ["run.rank00000.2.jsonl", "run.rank00000.3.jsonl", "run.rank00000.jsonl"])

    def test_names_that_are_no_file_names(self):
        file = PacketFile(self.folder, "../a b/c")
        file.append(b"x\n")
        file.close()
        self.assertEqual(self.names(), [".._a_b_c.jsonl"])

    def test_cut_by_another_program(self):
        """Nothing but whole lines stands in a file that logrotate's copytruncate emptied."""
        file = PacketFile(self.folder, "run")
        file.append(b"first\n")
        os.truncate(file.path, 0)
        file.append(b"second\n")
        with mock.patch("os.write", side_effect=[3, OSError(errno.ENOSPC, "full")]):
            with self.assertRaises(OSError):
                file.append(b"third\n")
        file.append(b"fourth\n")
        file.close()
        with open(file.path, "rb") as f:
            self.assertEqual(f.read(), b"second\nfourth\n")

    def test_a_cut_that_fails_too(self):
        file = PacketFile(self.folder, "run")
        file.append(b"whole\n")
        with mock.patch("os.write", side_effect=OSError(errno.EIO, "gone")), mock.patch("os.ftruncate", side_effect=OSError(errno.EIO, "gone")):
            self.assertRaises(OSError, file.append, b"lost\n")
        file.append(b"next\n")
        file.close()
        self.assertEqual(self.names(), ["run.2.jsonl", "run.jsonl"])

    def test_killed(self):
        """A kill leaves every window that was closed some time before."""
        program = """if True:
            import sys, time
            from sfstat_recorder import Identity, Recorder
            perf = Recorder(sys.argv[1], Identity("run"), window=2)
            for i in range(9):
                with perf.step():
                    pass
            time.sleep(0.5)
            print("there", flush=True)
            time.sleep(60)
        """
        job = subprocess.Popen([sys.executable, "-c", program, self.folder], stdout=subprocess.PIPE,
                               env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
        try:
            job.stdout.readline()
        finally:
            job.kill()
            job.wait()
            job.stdout.close()
        self.assertEqual([p["window"] for p in packets(self.folder)], [0, 1, 2, 3])

    def test_an_exit_without_close(self):
        program = "import sys\nfrom sfstat_recorder import *\nperf = Recorder(sys.argv[1])\nwith perf.step():\n    pass\n"
        subprocess.run([sys.executable, "-c", program, self.folder], check=True, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
        self.assertEqual(len(packets(self.folder)), 1)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_forked_child(self):
        """As the workers of a data loader: the child writes nothing."""
        perf = self.recorder()
        train(perf, 1)
        child = os.fork()
        if child == 0:
            perf.close()
            os._exit(0)
        os.waitpid(child, 0)
        perf.close()
        self.assertEqual(len(packets(self.folder)), 1)

    @unittest.skipUnless(os.path.isdir("/proc/self/fd"), "no list of descriptors")
    def test_recorders_that_are_dropped(self):
        """Their threads and descriptors are given back, and their last windows are written."""

        def held():
            return threading.active_count(), len(os.listdir("/proc/self/fd"))

        gc.collect()
        before = held()
        for i in range(30):
            perf = Recorder(self.folder, Identity("run%02d" % i), window=2, clock=self.clock)
            train(perf, 3)
        del perf
        gc.collect()
        until(lambda: held() <= before)
        got = packets(self.folder)
        self.assertEqual(sorted((p["run"], p["window"]) for p in got), sorted(("run%02d" % i, w) for i in range(30) for w in (0, 1)))

    def test_a_recorder_that_is_dropped_before_the_end(self):
        """The process waits for its writer, which is slow."""
        program = """
import gc, sys, time
from sfstat_recorder import *
from sfstat_recorder.files import PacketFile
append = PacketFile.append
PacketFile.append = lambda self, lines: time.sleep(0.3) or append(self, lines)
perf = Recorder(sys.argv[1])
with perf.step():
    pass
del perf
gc.collect()
"""
        subprocess.run([sys.executable, "-c", program, self.folder], check=True, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
        self.assertEqual(len(packets(self.folder)), 1)

    @unittest.skipUnless(os.path.isdir("/proc/self/fd") and hasattr(os, "fork"), "no fork, or no list of descriptors")
    def test_a_forked_child_that_goes_on(self):
        """It trains on with its copy of the recorder: it waits for nothing, says nothing and
        holds nothing, and its parent's packets are what they would be.
        """
        logging.getLogger("sfstat_recorder").setLevel(logging.WARNING)
        perf = self.recorder(queue=1)
        train(perf, 3)
        until(lambda: len(packets(self.folder)) == 1)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(write, 2)
            train(perf, 40)
            perf.close()
            mine = [os.path.realpath("/proc/self/fd/" + n) for n in os.listdir("/proc/self/fd")]
            os._exit(1 if any(path.startswith(os.path.realpath(self.folder)) for path in mine) else 0)
        os.close(write)
        _, status = os.waitpid(child, 0)
        said = os.read(read, 4096)
        os.close(read)
        perf.close()
        self.assertEqual((status, said), (0, b""))
        self.assertEqual([p["window"] for p in packets(self.folder)], [0, 1])


class Costs(FolderTest):
    def test_what_windows_cost(self):
        """Two windows: closing them calls the tracker, which takes 5 ms each, in the thread
        of the loop; writing them a gather of 20 ms each, in the writer's.
        """
        calls = []

        class Slow:
            def tell(self, message):
                return message

            def gather(self, payload):
                time.sleep(0.02)
                return [payload]

            def answer(self, message):
                return message

        perf = Recorder(self.folder, Identity("run", 0, 2), window=3, group=Slow(), arrivals=False)
        self.assertEqual(perf.cost(), Cost(0, 0, 0))
        perf.log(lambda scalars, step: calls.append(step) or time.sleep(0.005))
        for _ in range(6):
            with perf.step():
                pass
        perf.close()
        cost = perf.cost()
        self.assertEqual((cost.windows, calls), (2, [2, 5]))
        self.assertGreaterEqual(cost.closing_ns, 10e6)
        self.assertGreaterEqual(cost.writing_ns, 40e6)


class NeverBlocks(FolderTest):
    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_forked_child_of_a_writer_that_hangs(self):
        gate = threading.Event()
        with mock.patch.object(PacketFile, "append", lambda self, lines: gate.wait()):
            perf = Recorder(self.folder, place(), window=1, queue=1, clock=Clock())
            train(perf, 10)
            child = os.fork()
            if child == 0:
                begin = time.monotonic()
                perf.close(timeout_s=5)
                os._exit(0 if time.monotonic() - begin < 4 else 1)
            _, status = os.waitpid(child, 0)
            gate.set()
            perf.close()
        self.assertEqual(status, 0)

    def test_a_writer_that_hangs(self):
        clock = Clock()
        gate = threading.Event()
        with mock.patch.object(PacketFile, "append", lambda self, lines: gate.wait()):
            perf = Recorder(self.folder, place(), window=1, queue=2, clock=clock)
            begin = time.monotonic()
            train(perf, 100)
            self.assertLess(time.monotonic() - begin, 1)
            self.assertGreaterEqual(perf._writer.losses.total, 95)
            writer = perf._writer
            self.assertFalse(perf.close(timeout_s=0.1))
            gate.set()
            writer._thread.join()


if __name__ == "__main__":
    unittest.main()
