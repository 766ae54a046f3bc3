"""python -m sfstat_recorder [-o FOLDER] [--window N] [--arrivals auto|calls|off] [--capture] SCRIPT [ARGUMENTS …]"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import runpy
import sys
from typing import List, Optional

from .auto import watch
from .autocapture import arrange


def main(arguments: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sfstat_recorder",
        description="Runs a PyTorch training script and records the stages of its steps on every rank, without a change to it.",
        epilog="example: torchrun --nproc-per-node 8 -m sfstat_recorder -o runs/job-42 train.py --epochs 3")
    parser.add_argument("-o", dest="folder", metavar="FOLDER", help="where the packets go, a folder of its own for each launch (default: sfstat-SCRIPT)")
    parser.add_argument("--window", type=int, default=100, metavar="N", help="steps in a packet (default: 100)")
    parser.add_argument("--arrivals", choices=("auto", "calls", "off"), default="auto",
                        help="when ranks enter collectives: from PyTorch's Flight Recorder, by wrapping torch.distributed, or not at all (default: auto)")
    parser.add_argument("--capture", action="store_true",
                        help="late ranks are profiled for some steps, so that the verdict names the line of the program (default: never)")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module, as for python -m")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="ARGUMENTS")
    given = parser.parse_args(arguments)
    _talk()
    name = os.path.splitext(os.path.basename(given.script))[0]
    folder = given.folder or "sfstat-" + name
    options = {"window": given.window, "arrivals": False if given.arrivals == "off" else given.arrivals}
    loop = watch(folder, options)
    if loop is not None and given.capture:
        arrange(options, importlib.import_module("torch.distributed"), loop.close)
    sys.argv = [given.script, *given.rest]
    try:
        if given.module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(given.script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(given.script)))
            runpy.run_path(given.script, run_name="__main__")
    finally:
        if loop is not None:
            loop.finish()


def _talk() -> None:
    """Says on stderr what the recorder says, and leaves other loggers alone."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("sfstat_recorder: %(message)s"))
    log = logging.getLogger("sfstat_recorder")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False


if __name__ == "__main__":
    main()
