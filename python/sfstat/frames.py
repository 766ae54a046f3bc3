"""Data frames as inputs: pandas, polars, Arrow."""

from __future__ import annotations

import contextlib
import csv
import os
import tempfile
from typing import Any, Iterator, List, Sequence, Union

Path = Union[str, "os.PathLike[str]"]


def is_frame(given: object) -> bool:
    """Tells a data frame from a path: it can write itself as CSV, or has columns and rows."""
    return any(hasattr(given, name) for name in ("to_csv", "write_csv", "to_pylist"))


def write(frame: Any, path: str) -> None:
    """Writes a data frame as CSV; names of several levels become one, and an index that has a name a column."""
    if hasattr(frame, "write_csv"):  # polars
        frame.write_csv(path)
        return
    if hasattr(frame, "to_pylist"):  # Arrow
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.DictWriter(file, frame.column_names)
            rows.writeheader()
            rows.writerows(frame.to_pylist())
        return
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    if frame.columns.nlevels > 1:
        frame = frame.set_axis([" ".join(str(part) for part in name if str(part)) for name in frame.columns], axis=1)
    frame.to_csv(path, index=False)


@contextlib.contextmanager
def paths(given: Any) -> Iterator[List[str]]:
    """Yields paths, or those of data frames that are written for as long as they are needed, as arguments that are no flags."""
    several: Sequence[Any] = [given] if isinstance(given, (str, os.PathLike)) or is_frame(given) else list(given)
    with tempfile.TemporaryDirectory() if any(map(is_frame, several)) else contextlib.nullcontext() as folder:
        names = ["--"]
        for i, each in enumerate(several):
            if is_frame(each):
                name = os.path.join(str(folder), f"frame{i or ''}.csv")
                write(each, name)
                names.append(name)
            else:
                names.append(os.fspath(each))
        yield names
