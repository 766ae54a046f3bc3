"""What a process that ends early leaves: the recorders close on SIGTERM, and in
children of multiprocessing, which end without atexit.

The signal is handled only where nobody else handles it. A thread waits for it
beside the handler, which cannot run while the training thread is inside a
collective that does not return.
"""

from __future__ import annotations

import atexit
import multiprocessing
import multiprocessing.util
import os
import signal
import threading
import weakref
from typing import Any

_open: "weakref.WeakSet[Any]" = weakref.WeakSet()
_handles = False
_children = False  # the end of this child of multiprocessing is seen to
_handled = threading.Event()
_wakes = -1  # what tells the thread that waits of a signal; -1: there is none

_FLUSH_S = 10.0  # launchers kill some 30 s after they have sent the signal
_PATIENCE_S = 0.5  # for the handler to run where the interpreter does


def watch(recorder: Any) -> None:
    """Sees to it that the recorder is closed when its process ends."""
    global _children
    _open.add(recorder)
    if multiprocessing.parent_process() is not None and not _children:
        _children = True
        multiprocessing.util.Finalize(None, _close, exitpriority=100)
    _handle()


def forget(recorder: Any) -> None:
    """It was closed."""
    _open.discard(recorder)


def await_at_exit(writer: Any) -> None:
    """Its recorder was dropped; what it still writes is waited for when the process ends."""
    _open.add(writer)


def _close() -> None:
    for recorder in list(_open):
        recorder.close(_FLUSH_S)


atexit.register(_close)


def _handle() -> None:
    global _handles, _wakes
    if _handles or threading.current_thread() is not threading.main_thread():
        return
    try:
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            return
        signal.signal(signal.SIGTERM, _terminated)
        _handles = True
        read, write = os.pipe()
        os.set_blocking(write, False)
        before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        if before != -1:  # an event loop's
            signal.set_wakeup_fd(before)
            return
        _wakes = write
        threading.Thread(target=_wait, args=(read,), name="sfstat-signal", daemon=True).start()
    except (OSError, ValueError, RuntimeError):
        return  # no signals here: a window that is open is lost with its process


def _terminated(number: int, _: Any) -> None:
    """Closes the recorders and ends the process by the signal. In a thread: this one may have been
    stopped while it held what closing needs, and then it ends all the same.
    """
    _handled.set()
    try:
        closing = threading.Thread(target=_close, daemon=True)
        closing.start()
        closing.join(_FLUSH_S)
    except RuntimeError:
        pass
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _wait(read: int) -> None:
    while True:
        numbers = os.read(read, 64)
        if signal.SIGTERM in numbers and not _handled.wait(_PATIENCE_S):
            _close()
            if not _handled.wait(_PATIENCE_S):
                os._exit(128 + signal.SIGTERM)


def _before_fork() -> None:
    """A signal that a child gets before it can handle it would be lost, or taken for its parent's."""
    _set(signal.SIG_DFL, -1)


def _after_fork() -> None:
    _set(_terminated, _wakes)


def _set(handler: Any, fd: int) -> None:
    if not _handles or signal.getsignal(signal.SIGTERM) not in (_terminated, signal.SIG_DFL):
        return
    try:
        signal.signal(signal.SIGTERM, handler)
        if _wakes >= 0:
            signal.set_wakeup_fd(fd, warn_on_full_buffer=False)
    except ValueError:  # in another thread than the main one neither can be changed
        pass


def _forked() -> None:
    """A child has recorders of its own."""
    global _handles, _children, _wakes
    _handles, _children, _wakes = False, False, -1
    for recorder in list(_open):
        recorder.forked()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_forked)
