"""How a study is analysed."""

from __future__ import annotations

from dataclasses import dataclass

from trueval.arguments import check_range
from trueval.errors import DefinitionError


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """Options of an analysis; `first` names systems that were expected, before the study, to come first.

    `blanks` is what a list without a place means, where the answers do not say it.
    """

    first: tuple[str, ...] = ()
    blanks: str | None = None
    level: float = 0.95
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.5 <= self.level < 1:
            raise DefinitionError("the level must be from 0.5 to below 1", found=f"{self.level:g}", do="use 0.95")
        for name in ("resamples", "seed"):
            check_range(name, getattr(self, name))
        if 0 < self.resamples < 100:
            raise DefinitionError("too few resamples", found=str(self.resamples), do="use at least 100, or 0 for none")
