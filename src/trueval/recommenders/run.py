"""A run as a system: recommendations already made, judged beside systems that score."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Run:
    """A table or file of recommendations in place of a model, to be measured beside systems that score.

    Under a design its lists are cut to the candidates that the user has not seen. Ranks behind the lists stay unknown,
    so designs that sample targets and metrics that need every rank refuse it.

    Attributes
    ----------
    source : table or file
        A row per recommended item: user, item, and a score or a rank.
    columns : mapping or text, optional
        Roles of columns without a common name: {"user": "uid"} or "user=uid,score=pred".

    Examples
    --------
    >>> Run("recs.parquet")
    Run(source='recs.parquet', columns=None)
    """

    source: Any
    _: KW_ONLY
    columns: Any = None
