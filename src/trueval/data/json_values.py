"""Plain data, such as JSON can hold: results before they are written, and what is read back."""

from __future__ import annotations

import json
import math
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
