"""The audit of a result: can its numbers be trusted?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trueval.arguments import checked
from trueval.errors import DefinitionError
from trueval.evaluation.group_values import MIN_GROUP
from trueval.evaluation.groups import By
from trueval.evaluation.outcome import Evaluation

if TYPE_CHECKING:
    from trueval.audit.audit import Audit


class ResultAudit:
    """What can be audited of a result without fitting or reading anything again."""

    evaluation: Evaluation
    repeats: Mapping[str, Evaluation]
    observed: Any

    @checked
    def audit(
        self,
        parts: Any = None,
        *,
        relevant_change: str | float | Mapping[str, Any] | None = None,
        users: Any = None,
        by: By = None,
        min_group: int = MIN_GROUP,
        accept: Mapping[str, Any] | None = None,
    ) -> Audit:
        """Tell whether these numbers can be trusted (see `audit`), as far as the result knows.

        Values are those of the result, and other settings those that its facts allow. For all checks, audit the systems
        or the lists themselves: `audit(parts, systems)`, `audit(train=…, test=…, recs=…)`.

        Parameters
        ----------
        parts : Parts, optional
            The parts that were evaluated: they are checked for leakage.
        relevant_change : text, number or mapping, optional
            The smallest change of a metric that matters to you.
        users : table or file, optional
            Table of users with columns to group by.
        by : text or list of text, optional
            Columns of `users`: is a group served worse?
        min_group : int, default 30
            Groups with fewer users are not tested.
        accept : mapping, optional
            Findings to accept, with a reason and the fingerprint of the data.

        Returns
        -------
        Audit
            The findings, with verdicts.

        Examples
        --------
        >>> import polars as pl, trueval as tv
        >>> pairs = [(u, (u + j * j) % 11) for u in range(9) for j in range(4)]
        >>> log = pl.DataFrame(pairs, ["user", "item"], orient="row")
        >>> parts = tv.split(log, "holdout", ratio=0.4)
        >>> result = tv.evaluate(parts, ["popularity", "random"], metrics="recall@3", interval="none")
        >>> result.audit(parts)["leaked_pairs"][0].verdict
        'fine'
        """
        from trueval.audit.audit import audit_case
        from trueval.audit.make_case import case_of_result

        if self.repeats:
            raise DefinitionError(
                "an audit is of one fold or seed",
                found=", ".join(self.repeats),
                do="evaluate one of them, and audit that",
            )
        case = case_of_result(
            self.evaluation, observed=None if self.observed is None else self.observed.evaluation, parts=parts,
            relevant_change=relevant_change, users=users, by=by, min_group=min_group,
        )  # fmt: skip
        return audit_case(case, accept=accept)
