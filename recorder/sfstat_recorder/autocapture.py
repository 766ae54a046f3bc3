"""Captures for a script that is not changed.

They need a group over which rank 0 sees all ranks. Making one is a collective
call, so it is made where the script makes its process group, which all ranks
do together; and the recorder is closed before the script takes that away.
"""

from __future__ import annotations

import logging
from typing import Any, Callable, Dict

from .gather import TorchGroup
from .router import Trigger

_log = logging.getLogger("sfstat_recorder")

_MODULES = ("", "distributed_c10d", "device_mesh")  # of torch.distributed, that have the functions by name


def arrange(options: Dict[str, Any], distributed: Any, close: Callable[[], None]) -> None:
    """Adds a group and a trigger to the options of the recorder, once there is
    a process group of several ranks. ``close`` ends the recording.
    """

    def made(original: Callable[..., Any]) -> Callable[..., Any]:
        def init_process_group(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if "group" not in options and distributed.get_world_size() > 1:
                try:
                    options.update(group=TorchGroup(), trigger=Trigger())
                except Exception as error:
                    _log.warning("nothing will be captured, and every rank writes its own file: %s: %s", type(error).__name__, error)
            return result

        return init_process_group

    def taken(original: Callable[..., Any]) -> Callable[..., Any]:
        def destroy_process_group(group: Any = None) -> Any:
            if group is None:
                close()
            return original(group)

        return destroy_process_group

    _replace(distributed, "init_process_group", made)
    _replace(distributed, "destroy_process_group", taken)


def _replace(distributed: Any, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    original = getattr(distributed, name)
    wrapped = wrap(original)
    for module in _MODULES:
        at = getattr(distributed, module, None) if module else distributed
        if getattr(at, name, None) is original:
            setattr(at, name, wrapped)
