"""Append-only files of packets, of which a kill leaves all whole lines but the last."""

from __future__ import annotations

import os
import re
from typing import Optional

_MOST_NAMES = 10_000


class PacketFile:
    """A file of JSON Lines that this process alone writes.

    It is made when the first line comes, under a name that nothing has yet:
    ``NAME.jsonl``, else ``NAME.2.jsonl`` and so on. A line that could not be
    written whole is cut off again, so that a full disk leaves no half packet
    between whole ones. Where the file is taken away, what was in it is lost
    and counted, and the next line goes to a new one.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._folder = folder
        self._name = re.sub(r"[^\w.=@+-]", "_", name)[:200] or "run"
        self._fd: Optional[int] = None
        self._held = 0  # appends that the file holds
        self.path = ""

    def removed(self) -> int:
        """How many appends are lost because the file was removed since; 0: it is there."""
        if self._fd is None or self._there():
            return 0
        self.close()
        held, self._held = self._held, 0
        return held

    def _there(self) -> bool:
        assert self._fd is not None
        try:
            return os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except OSError:
            return False

    def append(self, lines: bytes) -> None:
        """Writes whole lines, or raises OSError and has written none."""
        if self._fd is None:
            self._open()
        assert self._fd is not None
        begin = os.fstat(self._fd).st_size  # another program may have cut the file, as logrotate does
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._fd, rest):]
        except OSError:
            self._cut(begin)
            raise
        self._held += 1

    def close(self) -> None:
        if self._fd is not None:
            fd, self._fd = self._fd, None
            os.close(fd)

    def _open(self) -> None:
        os.makedirs(self._folder, exist_ok=True)
        for n in range(1, _MOST_NAMES):
            path = os.path.join(self._folder, self._name + (".jsonl" if n == 1 else ".%d.jsonl" % n))
            try:
                self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0), 0o644)
            except FileExistsError:
                continue
            self.path = path
            return
        raise OSError("%s holds %d files of the name %s" % (self._folder, _MOST_NAMES, self._name))

    def _cut(self, end: int) -> None:
        """Takes back what was written of a line; if even that fails, the next
        line goes to a new file.
        """
        assert self._fd is not None
        try:
            os.ftruncate(self._fd, end)
        except OSError:
            fd, self._fd = self._fd, None
            try:
                os.close(fd)
            except OSError:
                pass
