"""Choices of the paper that several figures share."""

from __future__ import annotations

LIKED = 5.0  # ratings from here on are positive, as in §3.3
