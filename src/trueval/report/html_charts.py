"""The charts of a record as figures of a page, and which others there could be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trueval.charts.offered import OFFERS, offered
from trueval.errors import TruevalError
from trueval.render.html_elements import escape


def figures(kind: str, record: Any, *, names: Iterable[str] | None = None, place: str = "") -> list[str]:
    """All charts of a kind of record, or some, for which the record has what they need; then what the others need.

    `place` tells them from those of the same name elsewhere on the page.
    """
    drawn, missing = [], []
    for name in OFFERS[kind] if names is None else names:
        try:
            drawn.append(offered(kind, record, name, {}).to_html(place=place))
        except TruevalError:
            missing.append(f"{name.replace('_', ' ')} (needs {OFFERS[kind][name].needs})")
    if missing:
        drawn.append(f'<p class="hint">Not drawn here: {escape(", ".join(missing))}.</p>')
    return drawn
