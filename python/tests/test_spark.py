"""findings() on a real standalone cluster: a master and two workers as processes.

Needs PySpark and Java; where they are not installed the tests say so and are
skipped.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import sfstat
from sfstat import program

from .test_sfstat import MISSING, ROOT

try:
    import pyspark
    from pyspark.sql import SparkSession

    from sfstat import spark as module

    NOT_RUN = MISSING or ("" if shutil.which("java") or os.environ.get("JAVA_HOME") else "NOT RUN: Java is not installed")
except ImportError:
    NOT_RUN = MISSING or "NOT RUN: PySpark is not installed"

if NOT_RUN:
    print(f"findings on Spark: {NOT_RUN}", file=sys.stderr)

PATIENCE = 240  # seconds that a slow machine may take for a step


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until(holds, what):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.1)


@unittest.skipIf(NOT_RUN, NOT_RUN)
class SparkTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="sfstat-spark-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable)
        cls.archive = os.path.join(cls.folder, "archive")
        os.mkdir(cls.archive)
        for seed in range(6):
            fault = ["--fault", "data", "--delay", "60"] if seed % 2 else []
            program.run(["simulate", "--steps", "20", "--ranks", "4", "--seed", str(seed), *fault, "--run", f"job-{seed}", "-q", "-o", os.path.join(cls.archive, f"day-{seed}") + "/"])

        port = free_port()
        cls.address = f"spark://127.0.0.1:{port}"
        cls.start("master.Master", "--host", "127.0.0.1", "--port", str(port))
        until(lambda: cls.answers(port), "the master does not listen")
        cls.workers = [cls.worker(i) for i in range(2)]
        cls.spark = (SparkSession.builder.master(cls.address).appName("sfstat").config("spark.driver.host", "127.0.0.1").config("spark.ui.enabled", "false")
                     .config("spark.executor.memory", "512m").config("spark.network.timeout", "600s").getOrCreate())
        cls.spark.sparkContext.setLogLevel("ERROR")
        cls.addClassCleanup(cls.spark.stop)

    @classmethod
    def start(cls, role, *args):
        """Starts a daemon of Spark in a group of its own, so that its children end with it."""
        spark = os.path.join(os.path.dirname(pyspark.__file__), "bin", "spark-class")
        with open(os.path.join(cls.folder, "daemons.log"), "ab") as log:
            daemon = subprocess.Popen([spark, "org.apache.spark.deploy." + role, "--webui-port", "0", *args], stdout=log, stderr=log, start_new_session=True,
                                      env=dict(os.environ, SPARK_DAEMON_MEMORY="256m"))
        cls.addClassCleanup(cls.end, daemon)
        return daemon

    @classmethod
    def worker(cls, number):
        return cls.start("worker.Worker", "--cores", "1", "--memory", "1g", "--host", "127.0.0.1", "--work-dir", os.path.join(cls.folder, f"worker-{number}"), cls.address)

    @staticmethod
    def end(daemon):
        if daemon.poll() is None:
            os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()

    @staticmethod
    def answers(port):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    def expected(self):
        """The rows of sfstat batch, as its JSON lines have them."""
        import json

        rows = [json.loads(line) for line in program.run(["batch", "-q", "-o", "-", "--", self.archive]).splitlines()]
        self.assertEqual([list(row) for row in rows], [[name for name, _, _ in module.COLUMNS]] * len(rows))
        for row in rows:
            if not isinstance(row["stages"], str):
                row["stages"] = json.dumps(row["stages"], ensure_ascii=False, separators=(",", ":"))
        return sorted((tuple(row.values()) for row in rows), key=repr)

    def collected(self, frame):
        return sorted((tuple(row) for row in frame.collect()), key=repr)

    def test_1_same_rows(self):
        expected = self.expected()
        self.assertGreaterEqual(len(expected), 6)
        frame = module.findings(self.spark, self.archive, shards=5)
        self.assertEqual(self.collected(frame), expected)
        self.assertEqual([(f.name, f.nullable) for f in frame.schema], [(name, null) for name, _, null in module.COLUMNS])
        several = [os.path.join(self.archive, f"day-{i}") for i in range(6)]
        self.assertEqual(sorted(row["run"] for row in module.findings(self.spark, several, shards=40).collect()), sorted(row[2] for row in expected))

    def test_2_errors_are_the_line(self):
        with self.assertRaisesRegex(Exception, "nowhere: cannot be read: no such file"):
            module.findings(self.spark, os.path.join(self.archive, "nowhere"), shards=1).collect()

    def test_3_a_worker_killed_in_the_middle_loses_nothing(self):
        """The program is one that says when it begins and takes its time."""
        begun, program_path = os.path.join(self.folder, "begun"), os.path.join(self.folder, "slow-sfstat")
        os.mkdir(begun)
        with open(program_path, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\n: > "{begun}/$$"\nsleep 3\nexec "{sfstat.find()}" "$@"\n')
        os.chmod(program_path, os.stat(program_path).st_mode | stat.S_IXUSR)
        out = []
        job = threading.Thread(target=lambda: out.append(self.collected(module.findings(self.spark, self.archive, shards=6, binary=program_path))))
        job.start()
        until(lambda: len(os.listdir(begun)) >= 3, "no task begins")
        first = len(os.listdir(begun))
        self.end(self.workers[0])
        self.worker(2)
        job.join(PATIENCE)
        self.assertTrue(out, "the job has not ended")
        self.assertEqual(out[0], self.expected())
        self.assertGreater(len(os.listdir(begun)), first)


if __name__ == "__main__":
    unittest.main()
