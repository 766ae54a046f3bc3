"""Keeps torch.compile from seeing the recorder.

Dynamo takes every Python frame that runs under a compiled function for one that
it may compile, and inlines the functions that it traces through. A function
put in the place of one of PyTorch's would so change which graphs are made, and
with them how sums are rounded. So the frames of this package are never
compiled, though what they call may be; and where a graph goes through a
function that stands for another, the other is traced.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any, Callable, Iterator, Optional, Set

_seen: Set[str] = set()  # modules of this package


def stand_in(function: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which is called in the place of the original but is never traced."""
    function.__name__ = getattr(original, "__name__", function.__name__)
    function.__qualname__ = getattr(original, "__qualname__", function.__qualname__)
    function.__doc__ = original.__doc__
    function._torchdynamo_inline = original  # type: ignore[attr-defined]
    return function


def nothing(*_: Any, **__: Any) -> None:
    """For which a hook of this package stands in."""


def keep_out() -> None:
    """Marks the code of this package, if PyTorch is there and has Dynamo."""
    skip = _skipper()
    if skip is None:
        return
    package = __name__.rpartition(".")[0]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package and name not in _seen:
            _seen.add(name)
            for code in _codes(module, name):
                skip(code)


def _skipper() -> Optional[Callable[[types.CodeType], Any]]:
    """What marks code: in the core of PyTorch, for importing Dynamo takes seconds."""
    if "torch" not in sys.modules:
        return None
    try:
        core: Any = importlib.import_module("torch._C")._dynamo.eval_frame
        if hasattr(core, "skip_code"):  # before PyTorch 2.7
            older: Callable[[types.CodeType], Any] = core.skip_code
            return older
        strategy = core._FrameExecStrategy(core._FrameAction.SKIP, core._FrameAction.DEFAULT)
        return lambda code: core.set_code_exec_strategy(code, strategy)
    except Exception:  # another PyTorch: nothing is worse than it was
        return None


def _codes(module: types.ModuleType, name: str) -> Iterator[types.CodeType]:
    """The code of all functions that a module defines, with those inside them."""
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) != name:
            continue
        for member in list(vars(value).values()) if isinstance(value, type) else [value]:
            if isinstance(member, property):
                member = member.fget
            code = getattr(getattr(member, "__func__", member), "__code__", None)
            if code is not None:
                yield from _nested(code)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)
