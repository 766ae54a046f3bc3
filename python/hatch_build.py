"""Puts the program into a wheel, where it is told to: SFSTAT_PROGRAM is its file, SFSTAT_PLATFORM the
tag of the platform that it was built for. Without them the wheel is of Python alone.
"""

import os
from typing import Any, Dict

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Program(BuildHookInterface):
    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        program = os.environ.get("SFSTAT_PROGRAM")
        if not program or version == "editable":
            return
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + os.environ["SFSTAT_PLATFORM"]
        build_data["shared_scripts"][program] = "sfstat"
        licences = os.path.join(os.path.dirname(program), "THIRD_PARTY_LICENSES.txt")
        build_data["force_include"][licences] = "sfstat/THIRD_PARTY_LICENSES.txt"
