"""The recorder writes the committed packets, byte for byte. That sfstat reads
the committed windows from them is tested on its side (ingest/packet).
"""

from __future__ import annotations

import logging
import os
import tempfile
import unittest

from . import vector

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures", "recorder")


class VectorTest(unittest.TestCase):
    def read(self, folder, name):
        with open(os.path.join(folder, name), "rb") as f:
            return f.read()

    def test_packets(self):
        logging.disable(logging.CRITICAL)  # the script lets the gathering fail
        self.addCleanup(logging.disable, logging.NOTSET)
        with tempfile.TemporaryDirectory() as folder:
            vector.write(folder)
            committed = sorted(n for n in os.listdir(FIXTURES) if n.endswith(".jsonl"))
            self.assertEqual(sorted(os.listdir(folder)), committed)
            self.assertGreaterEqual(len(committed), 4)
            for name in committed:
                with self.subTest(name):
                    self.assertEqual(self.read(folder, name), self.read(FIXTURES, name))

    def test_windows(self):
        self.assertEqual(self.read(FIXTURES, "windows.json").decode(), vector.as_text(vector.expected()))


if __name__ == "__main__":
    unittest.main()
