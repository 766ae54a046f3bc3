from __future__ import annotations

import logging
import types
import unittest
from unittest import mock

from sfstat_recorder import autocapture
from sfstat_recorder.router import Trigger


class Distributed(types.SimpleNamespace):
    """torch.distributed, as far as it is changed."""

    def __init__(self, world):
        super().__init__()
        self.did = []
        self.get_world_size = lambda: world
        self.init_process_group = lambda *args, **kwargs: self.did.append("init %s %s" % (args, kwargs))
        self.destroy_process_group = lambda group=None: self.did.append("destroy %s" % group)
        self.device_mesh = types.SimpleNamespace(init_process_group=self.init_process_group)


class AutoCapture(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def arranged(self, world, group=object):
        options, distributed = {}, Distributed(world)
        patch = mock.patch.object(autocapture, "TorchGroup", group)
        patch.start()
        self.addCleanup(patch.stop)
        autocapture.arrange(options, distributed, lambda: distributed.did.append("close"))
        return options, distributed

    def test_a_group_where_the_script_makes_its_own(self):
        for through in ("self", "mesh"):
            with self.subTest(through):
                options, distributed = self.arranged(4)
                self.assertEqual(options, {})
                at = distributed if through == "self" else distributed.device_mesh
                at.init_process_group("gloo", rank=1)
                self.assertEqual(distributed.did, ["init ('gloo',) {'rank': 1}"])
                self.assertEqual(options["trigger"], Trigger())
                group = options["group"]
                at.init_process_group("gloo")  # again, after it was destroyed
                self.assertIs(options["group"], group)

    def test_one_rank_alone(self):
        options, distributed = self.arranged(1)
        distributed.init_process_group()
        self.assertEqual(options, {})

    def test_a_group_that_cannot_be_made(self):
        def none():
            raise RuntimeError("no Gloo here")

        options, distributed = self.arranged(4, none)
        distributed.init_process_group()
        self.assertEqual(options, {})

    def test_closed_before_the_groups_go(self):
        _, distributed = self.arranged(4)
        distributed.destroy_process_group("one of them")
        distributed.destroy_process_group()
        self.assertEqual(distributed.did, ["destroy one of them", "close", "destroy None"])


if __name__ == "__main__":
    unittest.main()
