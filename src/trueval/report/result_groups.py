"""A result by groups of users or items: values, gaps, and whether the groups are treated alike."""

from __future__ import annotations

import polars as pl

from trueval.arguments import checked
from trueval.evaluation.fairness import Disparity, demographic_parity, equal_opportunity
from trueval.evaluation.outcome import Evaluation
from trueval.report.groups import gap_frame, group_frame


class ResultGroups:
    """What a `Result` says of groups that were given as `by` to the evaluation."""

    evaluation: Evaluation

    @checked
    def by(self, column: str) -> pl.DataFrame:
        """The values of each group.

        For groups of users the units are theirs. For groups of items only judgements of the group's items count, R
        included, and a unit without relevant items of the group is undefined.

        Parameters
        ----------
        column : text
            One of the names that were given as `by` to the evaluation.

        Returns
        -------
        DataFrame
            One row per system, group and metric: value, interval, n, undefined, and whether gaps count the group.

        Examples
        --------
        >>> import trueval as tv
        >>> recs = pl.DataFrame({"user": [1, 2, 3], "item": ["a", "a", "b"], "rank": 1})
        >>> test = pl.DataFrame({"user": [1, 2, 3], "item": ["a", "a", "a"]})
        >>> users = pl.DataFrame({"user": [1, 2, 3], "gender": ["f", "f", "m"]})
        >>> result = tv.evaluate_run(recs, test, users=users, by="gender", metrics="hit@1", min_group=1)
        >>> result.by("gender").select("group", "value", "n").rows()
        [('f', 1.0, 2), ('m', 0.0, 1)]
        >>> result.gaps("gender")["gap"].to_list()
        [1.0]
        """
        return group_frame(self.evaluation, column)

    @checked
    def gaps(self, column: str) -> pl.DataFrame:
        """How far the groups are apart.

        Parameters
        ----------
        column : text
            One of the names that were given as `by` to the evaluation.

        Returns
        -------
        DataFrame
            One row per system and metric: highest minus lowest group, lowest over highest, with intervals.
        """
        return gap_frame(self.evaluation, column)

    @checked
    def parity(
        self, column: str, *, k: int | None = None, discount: bool = False, against: str = "catalogue"
    ) -> dict[str, Disparity]:
        """Demographic parity: shares of exposure by item group, against the catalogue or equal shares.

        Parameters
        ----------
        column : text
            One of the names of item groups that were given as `by` to the evaluation.
        k : int, optional
            Cutoff: how many places of the lists count. Default: the largest cutoff measured.
        discount : bool, default False
            Weight places by 1 / log2(rank + 1), instead of equally.
        against : {"catalogue", "equal"}, default "catalogue"
            The shares that groups should have: those of the catalogue, or equal ones.

        Returns
        -------
        dict of Disparity
            By system: the share of every group, with `gap`, `ratio` and `table()`.
        """
        systems = self.evaluation.systems.items()
        return {n: demographic_parity(s.by(column), k=k, discount=discount, against=against) for n, s in systems}

    @checked
    def opportunity(self, column: str, *, k: int | None = None) -> dict[str, Disparity]:
        """Equal opportunity: true-positive rates by user or item group.

        Parameters
        ----------
        column : text
            One of the names that were given as `by` to the evaluation.
        k : int, optional
            Cutoff: how many places of the lists count. Default: the largest cutoff measured.

        Returns
        -------
        dict of Disparity
            By system: the rate of every group, with `gap`, `ratio` and `table()`.
        """
        return {name: equal_opportunity(s.by(column), k=k) for name, s in self.evaluation.systems.items()}
