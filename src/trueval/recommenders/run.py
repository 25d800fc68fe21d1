"""A run as a system: recommendations already made, judged beside systems that score."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Run:
    """A table or file of recommendations (user, item, score or rank) in place of a model.

    Under a design its lists are cut to the candidates that the user has not seen. Ranks behind the lists
    stay unknown, so designs that sample targets and metrics that need every rank refuse it.

    >>> Run("recs.parquet")
    Run(source='recs.parquet', columns=None)
    """

    source: Any
    _: KW_ONLY
    columns: Any = None
