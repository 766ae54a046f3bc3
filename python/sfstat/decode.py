"""JSON into frozen dataclasses, by their type hints."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, Mapping, Type, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class FormatError(ValueError):
    """What the program wrote is not of the form that this package reads."""


def document(kind: Type[T], text: str, schema: str) -> T:
    """Reads a document of a schema such as "sfstat.verdict/2".

    A later program may add fields; what this package does not know is in ``raw``.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise FormatError(f"the program wrote no JSON: {error}") from error
    found = value.get("schema") if isinstance(value, dict) else None
    if found != schema:
        raise FormatError(f"schema is {found!r}, expected {schema!r}: the package and the program are of different versions")
    out: T = decode(kind, dict(value, raw=value), "$")
    return out


def decode(kind: Any, value: Any, at: str) -> Any:
    """Returns value as kind; ``at`` names the place in the document."""
    origin = get_origin(kind)
    if kind is Any:
        return value
    if origin is Union:  # Optional
        return None if value is None else decode(get_args(kind)[0], value, at)
    if origin is tuple:
        expect(isinstance(value, list), at, value, "a list")
        return tuple(decode(get_args(kind)[0], item, f"{at}[{i}]") for i, item in enumerate(value))
    if dataclasses.is_dataclass(kind):
        expect(isinstance(value, dict), at, value, "an object")
        return record(kind, value, at)
    if origin is not None:  # Mapping
        expect(isinstance(value, dict), at, value, "an object")
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    expect(isinstance(value, kind) and (kind is bool or not isinstance(value, bool)), at, value, kind.__name__)
    return value


def record(kind: Any, value: Mapping[str, Any], at: str) -> Any:
    """Returns the dataclass kind with the fields of value."""
    hints = get_type_hints(kind)
    fields: Dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        name = field.metadata.get("json", field.name)
        if name in value:
            fields[field.name] = decode(hints[field.name], value[name], f"{at}.{name}")
        elif field.default is dataclasses.MISSING:
            raise FormatError(f"{at} has no {name}")
    return kind(**fields)


def expect(holds: bool, at: str, value: Any, what: str) -> None:
    if not holds:
        raise FormatError(f"{at} is {value!r:.60}, expected {what}")
