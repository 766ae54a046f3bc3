"""The program behind the package: where it is, and how it is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from typing import Sequence

DONE = 0
BAD_INPUT = 2
FINDING = 3


class SfstatError(RuntimeError):
    """The program failed. The message is its line on standard error."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class BadInputError(SfstatError):
    """Bad usage or bad input: the line says which file, where, what was expected."""


class NotFoundError(SfstatError):
    """There is no program to run."""


def find() -> str:
    """Returns the path of the program: $SFSTAT, the one that a wheel installed, or the one on PATH."""
    named = os.environ.get("SFSTAT")
    if named:
        if not (os.path.isfile(named) and os.access(named, os.X_OK)):
            raise NotFoundError(f"SFSTAT is {named!r}, which is no program that can be run", BAD_INPUT)
        return named
    package = os.path.dirname(os.path.abspath(__file__))
    for scripts in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", os.name + "_user"), os.path.join(package, os.pardir, "bin")):  # pip install, with --user, with --target
        installed = shutil.which("sfstat", path=scripts)
        if installed is not None:
            return os.path.normpath(installed)
    on_path = shutil.which("sfstat")
    if on_path is None:
        raise NotFoundError("there is no sfstat on PATH: build it (make build), and name it in the environment variable SFSTAT", BAD_INPUT)
    return on_path


def run(args: Sequence[str]) -> str:
    """Runs the program and returns its standard output; a finding (exit code 3) is no failure."""
    program = find()
    try:
        done = subprocess.run([program, *args], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace")
    except OSError as error:
        raise NotFoundError(f"{program} cannot be run: {error}", BAD_INPUT) from error
    if done.returncode in (DONE, FINDING):
        return done.stdout
    message = done.stderr.strip() or f"{program} ended with exit code {done.returncode} and said nothing"
    kind = BadInputError if done.returncode == BAD_INPUT else SfstatError
    raise kind(message, done.returncode)


def version() -> str:
    """Returns the version of the program."""
    return run(["--version"]).strip()
