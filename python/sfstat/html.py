"""Answers as text for a terminal, and as small HTML for notebooks: everything is escaped, styles are inline, colours work on dark pages too."""

from __future__ import annotations

import textwrap
from html import escape
from typing import Optional, Sequence, Tuple

WIDTH = 80


def screen(headline: str, badge: str, terms: Sequence[Tuple[str, str]]) -> str:
    """Returns what the program prints first: a headline with its certainty, then named lines, those that say something."""
    lines = textwrap.wrap(headline + (f" [{badge}]" if badge else ""), WIDTH)
    for name, value in terms:
        if value:
            lines += textwrap.wrap(value, WIDTH, initial_indent=f"{name:<11}", subsequent_indent=" " * 11)
    return "\n".join(lines)

CELL = "padding:2px 10px 2px 0;text-align:left;vertical-align:top"


def page(blocks: Sequence[str]) -> str:
    """Returns the blocks that are not empty, one below the other."""
    return '<div style="font-size:13px">' + "".join(filter(None, blocks)) + "</div>"


def headline(text: str, alarming: bool, badge: str = "") -> str:
    """Returns the one sentence that must be seen, with its certainty beside it."""
    mark = f' <span style="border:1px solid;border-radius:8px;padding:0 6px;font-size:11px;white-space:nowrap">{escape(badge)}</span>' if badge else ""
    return f'<p style="font-size:15px;font-weight:600;margin:4px 0{";color:#d55e00" if alarming else ""}">{escape(text)}{mark}</p>'


def bars(rows: Sequence[Tuple[str, float, str, bool]]) -> str:
    """Returns a chart of parts of a step: name, part, what stands behind the bar, and whether that is the culprit's."""
    if not rows:
        return ""
    most = max(part for _, part, _, _ in rows) or 1.0
    body = "".join(
        f'<tr><td style="{CELL}">{escape(name)}</td>'
        f'<td style="{CELL};width:220px"><div style="height:11px;margin-top:3px;background:{"#d55e00" if culprit else "#8aa0b5"};width:{100 * part / most:.1f}%"></div></td>'
        f'<td style="{CELL};white-space:nowrap">{escape(behind)}</td></tr>' for name, part, behind, culprit in rows)
    return f'<table style="border-collapse:collapse;margin:6px 0">{body}</table>'


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
