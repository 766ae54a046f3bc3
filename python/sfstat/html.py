"""Small HTML for notebooks: everything is escaped, styles are inline, colours work on dark pages too."""

from __future__ import annotations

from html import escape
from typing import Optional, Sequence, Tuple

CELL = "padding:2px 10px 2px 0;text-align:left;vertical-align:top"


def page(blocks: Sequence[str]) -> str:
    """Returns the blocks that are not empty, one below the other."""
    return '<div style="font-size:13px">' + "".join(filter(None, blocks)) + "</div>"


def headline(text: str, alarming: bool) -> str:
    """Returns the one sentence that must be seen."""
    return f'<p style="font-size:15px;font-weight:600;margin:4px 0{";color:#d55e00" if alarming else ""}">{escape(text)}</p>'


def facts(pairs: Sequence[Tuple[str, str]]) -> str:
    """Returns names with values, those that have one."""
    shown = [f"<b>{escape(name)}</b> {escape(value)}" for name, value in pairs if value]
    return f'<p style="margin:4px 0">{" · ".join(shown)}</p>' if shown else ""


def table(heads: Sequence[str], rows: Sequence[Sequence[Optional[str]]]) -> str:
    """Returns a table, or nothing where it has no rows."""
    if not rows:
        return ""
    head = "".join(f'<th style="{CELL}">{escape(h)}</th>' for h in heads)
    body = "".join("<tr>" + "".join(f'<td style="{CELL}">{escape(cell or "")}</td>' for cell in row) + "</tr>" for row in rows)
    return f'<table style="border-collapse:collapse;margin:6px 0"><tr>{head}</tr>{body}</table>'


def length(ns: Optional[float]) -> str:
    """Returns nanoseconds as people read them: "118 ms"."""
    if ns is None:
        return "–"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def percent(part: Optional[float]) -> str:
    """Returns a fraction as people read it: "5.02 %"."""
    return "–" if part is None else f"{100 * part:.3g} %"
