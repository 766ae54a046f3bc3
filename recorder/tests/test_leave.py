"""What is there of a job that was ended, forked, or run again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

from sfstat_recorder import FORWARD, Recorder

from .support import packets, until

LOOP = """
import os, sys, time
from sfstat_recorder import FORWARD, Recorder

def train(folder, steps, then=lambda: None):
    perf = Recorder(folder, window=100)
    for _ in range(steps):
        with perf.step():
            with perf.stage(FORWARD):
                time.sleep(0.001)
    then()
    return perf
"""


def steps(folder):
    return sum(len(p["durations_ns"]) if "durations_ns" in p else p["steps"] for p in packets(folder))


class EndTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.join(temporary.name, "run")

    def script(self, text, *, until="", number=0):
        """The exit code of a script; it gets the signal once it has printed what is waited for."""
        job = subprocess.Popen([sys.executable, "-c", LOOP + textwrap.dedent(text), self.folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        if until:
            self.assertEqual(job.stdout.readline().strip(), until)
            job.send_signal(number)
        job.communicate(timeout=60)
        return job.returncode

    def test_sigterm_leaves_all_steps(self) -> None:
        code = self.script("""
            train(sys.argv[1], 60, lambda: (print("trained", flush=True), time.sleep(60)))
            """, until="trained", number=signal.SIGTERM)
        self.assertEqual(code, -signal.SIGTERM)
        self.assertGreaterEqual(steps(self.folder), 59)

    def test_sigterm_inside_a_call_that_does_not_return(self) -> None:
        code = self.script("""
            import ctypes
            def stuck():
                print("trained", flush=True)
                ctypes.CDLL(None).sleep(3)  # as a collective: without the interpreter, and again after a signal
                ctypes.CDLL(None).sleep(30)
            train(sys.argv[1], 60, stuck)
            """, until="trained", number=signal.SIGTERM)
        self.assertIn(code, (-signal.SIGTERM, 128 + signal.SIGTERM))
        self.assertGreaterEqual(steps(self.folder), 59)

    def test_a_handler_of_the_script_stays(self) -> None:
        code = self.script("""
            import signal
            signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
            train(sys.argv[1], 5, lambda: (print("trained", flush=True), time.sleep(60)))
            """, until="trained", number=signal.SIGTERM)
        self.assertEqual(code, 7)

    def test_a_crash_leaves_all_steps(self) -> None:
        self.assertEqual(self.script("""
            train(sys.argv[1], 60, lambda: 1 / 0)
            """), 1)
        self.assertGreaterEqual(steps(self.folder), 59)

    def test_a_forked_child_of_multiprocessing(self) -> None:
        self.assertEqual(self.script("""
            import multiprocessing
            child = multiprocessing.get_context("fork").Process(target=train, args=(sys.argv[1], 20))
            child.start()
            child.join()
            sys.exit(child.exitcode)
            """), 0)
        self.assertGreaterEqual(steps(self.folder), 19)

    def test_a_child_that_is_ended_does_not_end_its_parent(self) -> None:
        self.assertEqual(self.script("""
            import multiprocessing
            perf = train(sys.argv[1], 5)
            child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
            child.start()
            child.terminate()
            child.join()
            time.sleep(1.5)
            sys.exit(0 if child.exitcode == -15 and perf.close() else 1)
            """), 0)


class AgainTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.join(temporary.name, "run")

    def train(self, perf, n):
        for _ in range(n):
            with perf.step():
                with perf.stage(FORWARD):
                    pass

    def test_a_second_recording_is_another_run(self) -> None:
        for _ in range(2):
            with Recorder(self.folder, window=5) as perf:
                self.train(perf, 5)
        self.assertEqual({p["run"] for p in packets(self.folder)}, {"run", "run-2"})

    def test_a_folder_that_is_gone_is_a_loss(self) -> None:
        perf = Recorder(self.folder, window=5, queue=20)
        self.train(perf, 11)
        until(lambda: len(packets(self.folder)) == 2)
        shutil.rmtree(self.folder)
        with self.assertLogs("sfstat_recorder", "WARNING"):
            self.train(perf, 20)
            self.assertFalse(perf.close())
        self.assertTrue(any("was removed" in note for p in packets(self.folder) for note in p.get("notes", [])))

    def test_no_thread_ends_no_training(self) -> None:
        with mock.patch("threading.Thread.start", side_effect=RuntimeError("can't start new thread")), self.assertLogs("sfstat_recorder", "WARNING"):
            perf = Recorder(self.folder, window=5)
            self.train(perf, 12)
            self.assertFalse(perf.close())


if __name__ == "__main__":
    unittest.main()
