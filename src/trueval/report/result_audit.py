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
    from trueval.audit.case import Case


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

        Values are those of the result, and other settings those that its facts allow. Of several folds or seeds all are
        audited: facts are counted in each of them, estimates must hold in most (twice the median of their p-values,
        which is a p-value however repeats depend on each other). For all checks, audit the systems or the lists
        themselves: `audit(parts, systems)`, `audit(train=…, test=…, recs=…)`.

        Parameters
        ----------
        parts : Parts or list of these, optional
            The parts that were evaluated: they are checked for leakage. Of several folds, all of them.
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
        from trueval.audit.audit import audit_repeats
        from trueval.audit.make_case import case_of_result

        def case(evaluation: Evaluation, observed: Evaluation | None, own: Any) -> Case:
            return case_of_result(
                evaluation, observed=observed, parts=own, relevant_change=relevant_change, users=users, by=by,
                min_group=min_group,
            )  # fmt: skip

        if not self.repeats:
            seen = None if self.observed is None else self.observed.evaluation
            return audit_repeats({"": case(self.evaluation, seen, parts)}, accept=accept)
        several = _for_each(parts, list(self.repeats))
        observed = {} if self.observed is None else self.observed.repeats
        cases = {name: case(one, observed.get(name), several[name]) for name, one in self.repeats.items()}
        return audit_repeats(cases, accept=accept)


def _for_each(parts: Any, repeats: list[str]) -> dict[str, Any]:
    """Parts by repeat: one for all, or as many as there are repeats, in their order."""
    if parts is None or not isinstance(parts, (list, tuple)):
        return dict.fromkeys(repeats, parts)
    if len(parts) != len(repeats):
        raise DefinitionError(
            "there must be parts for every fold or seed", where="audit",
            found=f"{len(parts)} parts for {', '.join(repeats)}", do="give those that were evaluated, in their order",
        )  # fmt: skip
    return dict(zip(repeats, parts))
