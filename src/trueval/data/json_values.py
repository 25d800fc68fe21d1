"""Plain data, such as JSON can hold: results before they are written, and what is read back."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np


def parse_json(text: str) -> Any:
    """What a JSON text says; whatever is wrong with it is a ValueError.

    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ValueError: values nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("values nested too deeply") from None


def json_text(record: Any) -> str:
    """A record as the text that every result gives for JSON; what JSON does not know, such as a path, as text.

    >>> print(json_text({"system": "naïve"}))
    {
     "system": "naïve"
    }
    """
    return json.dumps(record, ensure_ascii=False, indent=1, default=str)


class Recorded(ABC):
    """A result that can be turned into plain data, and so into JSON."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""

    def to_json(self) -> str:
        """The record as text."""
        return json_text(self.to_dict())


def without_nan(value: Any) -> Any:
    """A record, however deep, in which numbers that are not finite have become None.

    >>> without_nan({"value": 0.5, "interval": (0.1, math.nan)})
    {'value': 0.5, 'interval': [0.1, None]}
    """
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(inner) for inner in value]
    return value
