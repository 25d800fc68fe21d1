"""Pictures of records: the charts are further right in the flow of imports, and are loaded when one is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any


def draw(kind: str, record: Any, name: str | None, options: Mapping[str, Any]) -> Any:
    """A `Chart` of a record, by its short name; without one, the first that records of this kind offer.

    The one place where a module is named in text: a record offers what a later folder makes of it, and knows no more.
    """
    return importlib.import_module("trueval.charts.offered").offered(kind, record, name, options)
