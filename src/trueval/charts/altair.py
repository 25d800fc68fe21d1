"""Altair and vl-convert, loaded when the first picture is made, and one look for all of them."""

from __future__ import annotations

import importlib
import math
from types import ModuleType
from typing import Any

from trueval.errors import DefinitionError
from trueval.memory import in_words

# Okabe and Ito's colours, which people with any kind of colour blindness can tell apart.
# The blue and the violet are a little lighter than theirs, and the last follows the page, for pages may be dark.
INK, SOFT, GRID = "#1C1E21", "#5F6670", "#E4E1DA"
PALETTE = ("#1F7FC0", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#9C8A00", "#8C7CC4", "#7F7F7F", INK)
GOOD, CALM, BAD = PALETTE[0], "#7F7F7F", "#D55E00"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif"
WIDTH = 560  # of the part that holds the marks, in pixels


_ADDRESSES = 128 * 2**30  # that the converter reserves, most of them never used: its process dies with fewer


def hindrance() -> str:
    """Why no pictures can be made here, as what to do about it; empty where they can."""
    try:
        altair(), converter()
    except DefinitionError as problem:
        return problem.do
    return ""


def altair() -> ModuleType:
    """The library that charts are declared with."""
    return _load("altair")


def converter() -> ModuleType:
    """The library that turns declarations into pictures, without a browser."""
    limit = _address_limit()
    if limit < _ADDRESSES:
        raise DefinitionError(
            "charts need more room for addresses than this process may have",
            found=f"a limit of {in_words(limit)}",
            do=f"ulimit -v {_ADDRESSES // 1024} or more; it is no memory that is used",
        )
    return _load("vl_convert")


def _address_limit() -> float:
    """Bytes of addresses that the process may reserve; no limit where the system knows none."""
    try:
        resource = importlib.import_module("resource")
    except ImportError:
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else float(limit)


def _load(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise DefinitionError(
            "charts need Altair and vl-convert", found=str(problem), do="pip install 'trueval[charts]'"
        ) from None


def look() -> dict[str, Any]:
    """What all charts have in common, as the `config` of Vega-Lite."""
    return {
        "font": FONT,
        "background": None,
        "aria": False,  # what is shown is said once, of the whole picture, and not of every mark
        "view": {"stroke": None},
        "axis": {
            "labelColor": SOFT, "titleColor": SOFT, "titleFontWeight": "normal", "labelFontSize": 12,
            "titleFontSize": 12, "gridColor": GRID, "domainColor": GRID, "tickColor": GRID, "labelLimit": 300,
        },
        "axisY": {"grid": False},
        "legend": {
            "labelColor": INK, "titleColor": SOFT, "titleFontWeight": "normal", "labelFontSize": 12,
            "orient": "bottom", "symbolStrokeWidth": 2, "labelLimit": 300,
        },
        "header": {"labelColor": INK, "labelFontSize": 13, "labelFontWeight": "bold", "title": None},
        "range": {"category": list(PALETTE)},
        "locale": {"number": {  # English, but "20 %", as in the texts
            "decimal": ".", "thousands": ",", "grouping": [3], "currency": ["$", ""], "percent": "\u00a0%",
        }},
    }  # fmt: skip
