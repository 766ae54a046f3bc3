"""What the sampler of a capture makes of a thread's stack."""

from __future__ import annotations

import os
import time
import unittest

import sfstat_recorder
from sfstat_recorder.sampler import Sampler


def slow(seconds):
    time.sleep(seconds)


def quick():
    return sum(range(10))


class SamplerTest(unittest.TestCase):
    def test_a_function_that_takes_long_is_seen_for_as_long(self):
        begin = time.time_ns()
        sampler = Sampler(interval=0.002)
        slow(0.2)
        for _ in range(100):
            quick()
        sampler.stop()
        events = sampler.events(begin)
        functions = [e for e in events if e["name"].endswith("(%d): slow" % slow.__code__.co_firstlineno)]
        lines = [e for e in events if e["name"].endswith("(%d): slow" % (slow.__code__.co_firstlineno + 1))]
        for seen in (functions, lines):
            self.assertEqual(len(seen), 1)
            self.assertGreater(seen[0]["dur"], 100e3)  # microseconds; a loaded machine looks less often
            self.assertGreaterEqual(seen[0]["ts"], 0)
        self.assertEqual(functions[0]["cat"], "python_function")

    def test_callers_span_what_they_call(self):
        sampler = Sampler(interval=0.002)
        slow(0.05)
        slow(0.05)
        sampler.stop()
        events = {e["name"].split(": ")[1]: e for e in sampler.events(0) if "(%d)" % slow.__code__.co_firstlineno not in e["name"]}
        caller, called = events["test_callers_span_what_they_call"], events["slow"]
        self.assertLessEqual(caller["ts"], called["ts"])
        self.assertGreaterEqual(caller["ts"] + caller["dur"], called["ts"] + called["dur"])

    def test_the_recorders_own_functions_are_nobodys_time(self):
        scope = {"slow": slow, "time": time}
        own = os.path.join(os.path.dirname(os.path.abspath(sfstat_recorder.__file__)), "auto.py")
        exec(compile("def following():\n    slow(0.05)\n    time.sleep(0.05)\n", own, "exec"), scope)
        sampler = Sampler(interval=0.002)
        scope["following"]()
        sampler.stop()
        events = sampler.events(0)
        self.assertFalse([e["name"] for e in events if "following" in e["name"] or "auto.py" in e["name"]])
        self.assertTrue([e for e in events if e["name"].endswith(": slow")])
        here = "test_the_recorders_own_functions_are_nobodys_time"
        self.assertGreater(sum(e["dur"] for e in events if e["name"].endswith(": " + here)), 50e3)

    def test_it_ends_by_itself(self):
        sampler = Sampler(interval=0.001, most=3)
        time.sleep(0.1)
        self.assertLessEqual(len(sampler._looks), 3)
        sampler.stop()
        sampler.events(0)

    def test_what_it_did_not_see_is_in_no_function(self):
        sampler = Sampler()
        sampler.stop()
        sampler._looking.join()
        code = Sampler.stop.__code__
        stack = (code, 7)
        sampler._looks = [(n * 5_000_000, stack) for n in (1, 2, 3, 153, 154)]
        lengths = sorted(e["dur"] for e in sampler.events(0) if e["name"].endswith(code.co_name))
        self.assertEqual(lengths, [5_000.0, 5_000.0, 15_000.0, 15_000.0])  # the function and its line, before and after

    def test_nothing_seen_is_no_events(self):
        sampler = Sampler(interval=10)
        sampler.stop()
        self.assertEqual(sampler.events(0), [])


if __name__ == "__main__":
    unittest.main()
