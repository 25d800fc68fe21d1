"""Results as plain data, such as JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


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
