"""Independent seeds for independent purposes, from the one seed a person gives."""

from __future__ import annotations

import hashlib

import numpy as np


def derive(seed: int, purpose: str) -> np.uint64:
    """A seed of its own for each purpose, so that ties and samples never share draws.

    >>> bool(derive(0, "ties") != derive(0, "sample"))
    True
    """
    return np.uint64(int.from_bytes(hashlib.sha256(f"{seed}/{purpose}".encode()).digest()[:8], "little"))
