"""Data frames, where pandas is installed."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Sequence


def pandas() -> Any:
    """Returns the module pandas, or says how to get it."""
    try:
        import pandas as module
    except ImportError as error:
        raise ImportError("to_pandas needs pandas: pip install 'sfstat[pandas]'") from error
    return module


def frame(rows: Iterable[Dict[str, Any]], columns: Sequence[str]) -> Any:
    """Returns a DataFrame of rows, with these columns also where there is none."""
    return pandas().DataFrame(list(rows), columns=list(columns))
