"""Shares of a log that chance put into the test set and outside train, and what they make of propensities."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class HeldOutShares:
    """The chance that a row of a log is in the test set, and that it is not in train: in test or in validation.

    For all rows, or for each user, item or pair. Of a `random` sample, `test` is the chance of every pair, in the log
    or not; where that does not depend on the log (`needs_p`), propensities play no part.

    >>> shares = HeldOutShares(test=0.2, outside=0.2)
    >>> pairs = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"]})
    >>> shares.tested(pl.Series([0.1, 0.5, 1.0]), pairs).round(3).to_list()
    [0.02, 0.1, 0.2]
    >>> shares.tested(pl.Series([0.1, 0.5, 1.0]), pairs, outside_train=True).round(3).to_list()
    [0.022, 0.167, 1.0]
    """

    test: float = 1.0
    outside: float = 1.0
    by: pl.DataFrame | None = None  # user, item or both; test, outside: instead of the two
    random: bool = False
    needs_p: bool = True
    users: pl.Series | None = None  # who can be tested, where that is not everybody
    items: pl.Series | None = None  # likewise

    @property
    def keys(self) -> list[str]:
        """Columns by which shares are looked up."""
        return [] if self.by is None else [column for column in self.by.columns if column not in ("test", "outside")]

    @property
    def whole(self) -> bool:
        """Whether the test set is all of the log."""
        return self.by is None and self.test == 1

    @property
    def untested(self) -> int:
        """Number of users none of whose rows could be drawn."""
        return 0 if self.by is None or self.keys != ["user"] else int((self.by["test"] == 0).sum())

    def tested(self, p: pl.Series, pairs: pl.DataFrame, *, outside_train: bool = False) -> pl.Series:
        """The chance that pairs are in the test set, which are in the log with chance p: s·p.

        With `outside_train`, of pairs that are not in train, t being the share of train: s·p / (1 − t·p). A popular
        pair that is not in train is more likely to be tested than s·p, because all that it could be is tested or
        missing from the log.
        """
        test: pl.Series | float = self.test
        outside: pl.Series | float = self.outside
        if self.by is not None:
            own = pairs.select(self.keys).join(self.by, on=self.keys, how="left", maintain_order="left")
            test, outside = own["test"], own["outside"]
        tested = test if self.random else p * test
        # 1 − t·p, written so that a certain pair has exactly what is left of its row
        return tested / ((1 - p) + p * outside) if outside_train else 0 * p + tested

    def description(self, *, outside_train: bool = False) -> str:
        """What `tested` does to propensities, in words.

        >>> HeldOutShares(0.2, 0.3).description(outside_train=True)
        'as the chance of pairs outside train to be tested, s p / (1 - t p) with s = 0.2 held out and t = 0.7 in train'
        """
        if self.random:
            return "the chance with which pairs were drawn at random"
        each = {"user": "of the user's rows", "item": "of the item's rows", "user item": "of the log for each pair"}
        of_each = each.get(" ".join(self.keys))
        if not outside_train:
            held_out = f"the share {of_each} that was held out" if of_each else f"{self.test:g}, the share held out"
            return f"times {held_out}"
        formula = "as the chance of pairs outside train to be tested, s p / (1 - t p) with"
        if of_each:
            return f"{formula} the shares s held out and t in train {of_each}"
        return f"{formula} s = {self.test:g} held out and t = {1 - self.outside:g} in train"
