"""Shares of a log that chance put into the test set and outside train, and what they make of propensities."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class HeldOutShares:
    """The chance that a row of a log is in the test set, and that it is not in train: in test or in validation.

    For all users, or for each where a whole number of their rows was drawn.

    >>> shares = HeldOutShares(test=0.2, outside=0.2)
    >>> shares.tested(pl.Series([0.1, 0.5, 1.0]), pl.Series([1, 1, 2])).round(3).to_list()
    [0.02, 0.1, 0.2]
    >>> shares.tested(pl.Series([0.1, 0.5, 1.0]), pl.Series([1, 1, 2]), outside_train=True).round(3).to_list()
    [0.022, 0.167, 1.0]
    """

    test: float = 1.0
    outside: float = 1.0
    by_user: pl.DataFrame | None = None  # user, test, outside: instead of the two

    @property
    def whole(self) -> bool:
        """Whether the test set is all of the log."""
        return self.by_user is None and self.test == 1

    @property
    def untested(self) -> int:
        """Number of users none of whose rows could be drawn."""
        return 0 if self.by_user is None else int((self.by_user["test"] == 0).sum())

    def tested(self, p: pl.Series, users: pl.Series, *, outside_train: bool = False) -> pl.Series:
        """The chance that pairs are in the test set, which are in the log with chance p: s·p.

        With `outside_train`, of pairs that are not in train, t being the share of train: s·p / (1 − t·p). A popular
        pair that is not in train is more likely to be tested than s·p, because all that it could be is tested or
        missing from the log.
        """
        test: pl.Series | float = self.test
        outside: pl.Series | float = self.outside
        if self.by_user is not None:
            own = users.alias("user").to_frame().join(self.by_user, on="user", how="left", maintain_order="left")
            test, outside = own["test"], own["outside"]
        # 1 − t·p, written so that a certain pair has exactly what is left of its row
        return p * test / ((1 - p) + p * outside) if outside_train else p * test

    def description(self, *, outside_train: bool = False) -> str:
        """What `tested` does to propensities, in words.

        >>> HeldOutShares(0.2, 0.3).description(outside_train=True)
        'as the chance of pairs outside train to be tested, s p / (1 - t p) with s = 0.2 held out and t = 0.7 in train'
        """
        if not outside_train:
            each = "the share of the user's rows that was held out"
            return f"times {each}" if self.by_user is not None else f"times {self.test:g}, the share held out"
        formula = "as the chance of pairs outside train to be tested, s p / (1 - t p) with"
        if self.by_user is not None:
            return f"{formula} the shares s held out and t in train of the user's rows"
        return f"{formula} s = {self.test:g} held out and t = {1 - self.outside:g} in train"
