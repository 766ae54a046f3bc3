"""Plan and device, without PyTorch. The vector was written by the simulator."""

from __future__ import annotations

import json
import os
import statistics
import unittest

from sfstat_job.device import EmulatedDevice
from sfstat_job.plan import Dist, Plan, Schedule

_HERE = os.path.dirname(os.path.abspath(__file__))
VECTOR = os.path.join(_HERE, "..", "..", "testdata", "vector.json")

with open(VECTOR, encoding="utf-8") as _file:
    VECTORS = json.load(_file)


def total(amount):
    return amount.host + amount.device + amount.comm


class VectorTest(unittest.TestCase):
    def test_faults_strike_when_the_simulator_has_them(self):
        for vector in VECTORS:
            spec = vector["spec"]
            for rank in range(spec["ranks"]):
                plan = Plan(spec, rank)
                for step in range(plan.schedule.total):
                    want = {}
                    for fault in vector["truth"]:
                        strikes = any(r["first"] <= step <= r["last"] for r in fault["steps"])
                        if strikes and rank in fault["hidden_ranks"]:
                            want[fault["seeded_stage"]] = want.get(fault["seeded_stage"], 0) + fault["delay_ms"] / 1e3
                    got = {}
                    for op, amount in zip(plan.ops, plan.delays(step)):
                        if total(amount) > 0:
                            got[op.stage] = got.get(op.stage, 0) + total(amount)
                    self.assertEqual(sorted(got), sorted(want), (spec["run"], rank, step))
                    for stage, seconds in want.items():
                        self.assertAlmostEqual(got[stage], seconds, places=9)

    def test_all_vectors_have_faults(self):
        self.assertTrue(all(fault["steps"] for vector in VECTORS for fault in vector["truth"]))


class PlanTest(unittest.TestCase):
    def accumulating(self):
        return next(v["spec"] for v in VECTORS if v["spec"]["accumulation"] == 4)

    def test_schedule(self):
        s = Schedule(windows=2, steps=3, warmup=2, gap=1)
        self.assertEqual(s.total, 9)
        self.assertEqual([s.recorded(i) for i in range(-1, 11)],
                         [None, None, None, (0, 0), (1, 0), (2, 0), None, (3, 1), (4, 1), (5, 1), None, None])

    def test_microsteps(self):
        plan = Plan(self.accumulating(), 0)
        self.assertEqual([op.name for op in plan.ops[:5]],
                         ["data.next_wait@0", "model.fwd_loss_cpu_wall@0", "model.backward_cpu_wall@0", "data.next_wait@1", "model.fwd_loss_cpu_wall@1"])
        self.assertEqual(len(plan.ops), 14)
        self.assertEqual([op.share for op in plan.ops], [0.25] * 12 + [1.0, 1.0])
        self.assertEqual((plan.accumulation, plan.repeated), (4, plan.stages[:3]))

    def test_last_microstep_alone_meets(self):
        spec = json.loads(json.dumps(self.accumulating()))
        spec["stages"][2]["meetings"][0]["last_microstep"] = True
        self.assertEqual([op.name for op in Plan(spec, 0).ops if op.meets], ["model.backward_cpu_wall@3"])
        hidden = spec["faults"][2]["ranks"][0]
        comm = [amount.comm for amount in Plan(spec, hidden).delays(0)]
        self.assertEqual([x for x in comm if x > 0], [0.004])

    def test_roles_do_other_work(self):
        spec = next(v["spec"] for v in VECTORS if v["spec"].get("work"))
        factors = [[op.factor for op in Plan(spec, rank).ops[:2]] for rank in range(4)]
        self.assertEqual(factors, [[1, 1], [1, 1], [1.5, 1.5], [3.0, 1.5]])
        self.assertEqual(Plan(spec, 2).role, {"dp": 0, "pp": 1})

    def test_draws_are_of_seed_rank_and_step(self):
        spec = VECTORS[0]["spec"]
        one = Plan(spec, 1).amounts(3)
        self.assertEqual(one, Plan(spec, 1).amounts(3))
        self.assertNotEqual(one, Plan(spec, 1).amounts(4))
        self.assertNotEqual(one, Plan(spec, 2).amounts(3))
        self.assertNotEqual(one, Plan(dict(spec, seed=7), 1).amounts(3))

    def test_moments(self):
        import random
        lot = random.Random(1)
        for shape in ("normal", "lognormal", "gamma", "exponential"):
            draws = [Dist(10, 3, shape).draw(lot) for _ in range(20_000)]
            self.assertAlmostEqual(statistics.fmean(draws), 10, delta=0.1)
            self.assertAlmostEqual(statistics.pstdev(draws), 3, delta=0.1)
        self.assertEqual(Dist(10).draw(lot), 10)
        self.assertEqual(min(Dist(0.1, 5, "normal").draw(lot) for _ in range(50)), 0)

    def test_unknown_words(self):
        spec = VECTORS[0]["spec"]
        with self.assertRaisesRegex(ValueError, "family is 'gremlin'"):
            Plan(dict(spec, faults=[dict(spec["faults"][0], family="gremlin")]), 0)
        with self.assertRaisesRegex(ValueError, "shape is 'round'"):
            Dist(1, 1, "round").draw(None)


class DeviceTest(unittest.TestCase):
    def setUp(self):
        self.now = 100.0
        self.device = EmulatedDevice(lambda: self.now, self.pass_time)

    def pass_time(self, seconds):
        self.now += seconds

    def test_work_queues_and_drains(self):
        self.device.launch(2)
        self.device.launch(1)
        self.pass_time(0.5)
        self.device.wait()
        self.assertEqual(self.now, 103)
        self.device.wait()
        self.assertEqual(self.now, 103)

    def test_marks_are_reached_with_the_queue(self):
        self.device.launch(1)
        pair = self.device.begin()
        self.device.launch(2)
        self.device.end(pair)
        self.assertIsNone(self.device.elapsed_ms(pair))
        self.pass_time(2.9)
        self.assertIsNone(self.device.elapsed_ms(pair))
        self.pass_time(0.2)
        self.assertEqual(self.device.elapsed_ms(pair), 2000)

    def test_nothing_launched(self):
        pair = self.device.begin()
        self.device.end(pair)
        self.assertEqual(self.device.elapsed_ms(pair), 0)


if __name__ == "__main__":
    unittest.main()
