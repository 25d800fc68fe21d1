"""The audit: all checks of one case, corrected together; the public function."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TextIO

import polars as pl

from trueval.arguments import checked
from trueval.audit.acceptance import Accepted, accept_findings, fingerprint
from trueval.audit.case import Case
from trueval.audit.claims import DEPENDS, Claims, combine_claims, make_claims
from trueval.audit.conclusion import conclude
from trueval.audit.finding import VERDICTS, Draft, Finding, worst
from trueval.audit.make_case import DESIGN, make_case
from trueval.audit.registry import Check, all_checks, missing_need
from trueval.audit.render import audit_latex, audit_markdown, audit_text, headline, print_audit
from trueval.audit.repeats import combine_repeats
from trueval.audit.robustness import Robustness
from trueval.data.exported_tables import Tabular
from trueval.data.json_values import without_nan
from trueval.errors import DefinitionError, TruevalError, suggest
from trueval.evaluation.group_values import MIN_GROUP
from trueval.evaluation.groups import By
from trueval.evaluation.manifest import make_manifest
from trueval.kernels import use_threads
from trueval.metrics.grammar import Spec
from trueval.pictures import Reported
from trueval.progress import hushed, progress
from trueval.render.shown import Shown

RAISE_ON = ("wrong", "caution", DEPENDS)
SIMULATED = "simulated_designs"  # the record of a simulation among what was measured
_RECORDED = ("popularity_curve", "sparsity")  # what was measured and is no figure of a finding


@dataclass(frozen=True)
class Audit(Tabular, Shown, Reported):
    """What an audit found. Prints what may be claimed first, then what is wrong; `audit["ties_at_cut"]` are the
    findings of one check, and `claims` has an answer for every pair of systems that differ.

    >>> import trueval as tv
    >>> log = pl.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "b"]})
    >>> found = tv.audit(train=log, test=log.head(1))
    >>> found.verdict, found["leaked_pairs"][0].verdict
    ('wrong', 'wrong')
    """

    report_kind: ClassVar[str] = "audit"
    findings: tuple[Finding, ...]
    accepted: tuple[Accepted, ...]
    manifest: dict[str, Any] = field(repr=False)
    robustness: Robustness | None = field(default=None, repr=False)  # of two systems or more
    measured: Mapping[str, Any] = field(default_factory=dict, repr=False)  # records that have charts, by their kind
    claims: Claims = field(default=Claims((), (), ()), repr=False)

    @property
    def verdict(self) -> str:
        """The most severe verdict of a finding that was not accepted."""
        return worst(self.findings)

    def __getitem__(self, check: str) -> list[Finding]:
        """The findings of one check, accepted or not."""
        known = [one.name for one in all_checks()]
        if check not in known:
            raise DefinitionError(f"there is no check {check!r}", do=suggest(check, known))
        return [one for one in (*self.findings, *(a.finding for a in self.accepted)) if one.check == check]

    def __repr__(self) -> str:
        return f"<Audit: {headline(self).removeprefix('audit: ')}>"

    def __str__(self) -> str:
        return audit_text(self)

    def print(self, file: TextIO, *, width: int | None = None) -> None:
        """Write the audit; colours only on a terminal."""
        print_audit(self, file, width=width)

    def table(self) -> pl.DataFrame:
        """One row per finding: check, heading, verdict, kind, effect, remedy, p, accepted."""
        rows = [(one, None) for one in self.findings] + [(one.finding, one.reason) for one in self.accepted]
        columns = ("check", "heading", "verdict", "kind", "sentence", "remedy")
        data = [
            (*(getattr(one, name) for name in columns), None if one.p != one.p else one.p, why) for one, why in rows
        ]
        names = ("check", "heading", "verdict", "kind", "effect", "remedy")
        schema = {**dict.fromkeys(names, pl.String), "p": pl.Float64, "accepted": pl.String}
        return pl.DataFrame(data, schema=schema, orient="row")

    def to_dict(self) -> dict[str, Any]:
        """The record that `trueval audit --format json` prints; undefined numbers are None."""
        found: dict[str, Any] = without_nan({
            "claims": self.claims.records(), "claims_in_words": self.claims.sentences(),
            "verdict": self.verdict, "findings": [one.record() for one in self.findings],
            "accepted": [one.record() for one in self.accepted], "manifest": self.manifest,
            "measured": {kind: self.measured[kind].to_dict() for kind in _RECORDED if kind in self.measured},
            **({"simulation": self.measured[SIMULATED].to_dict()} if SIMULATED in self.measured else {}),
        })  # fmt: skip
        return found

    def to_json(self) -> str:
        """The record as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, default=str)

    def to_markdown(self) -> str:
        """A row per finding, in Markdown."""
        return audit_markdown(self)

    def to_latex(self) -> str:
        """A row per finding, as a LaTeX (booktabs) table."""
        return audit_latex(self)

    def reaches(self, verdict: str) -> bool:
        """Whether a finding that was not accepted is as severe as this; "depends": whether something is wrong, or an
        order depends on how the ratings came about.

        >>> Audit((), (), {}).reaches("caution")
        False
        """
        if verdict not in RAISE_ON:
            raise DefinitionError(f"unknown verdict to raise on: {verdict!r}", do=suggest(verdict, RAISE_ON))
        if verdict == DEPENDS:
            return self.verdict == "wrong" or bool(self.claims.of(DEPENDS))
        return VERDICTS.index(self.verdict) <= VERDICTS.index(verdict)

    def raise_on(self, verdict: str) -> None:
        """Raise an error where a finding that was not accepted is "wrong" or, with "caution", as severe as that; with
        "depends", where something is wrong or an order depends on how the ratings came about."""
        if not self.reaches(verdict):
            return
        severe = VERDICTS.index("wrong" if verdict == DEPENDS else verdict)
        found = [one for one in self.findings if VERDICTS.index(one.verdict) <= severe]
        if found:
            raise TruevalError(
                f"the audit found what is {' or '.join(dict.fromkeys(one.verdict for one in found))}",
                found="\n".join(f"{one.check}: {one.sentence}" for one in found),
                do="mend it, or accept it with a reason (accept=…)",
            )
        depending = [f"{claim.better} > {claim.worse} on {claim.metric}" for claim in self.claims.of(DEPENDS)]
        raise TruevalError(
            "orders of systems depend on how the ratings came about", found=", ".join(depending),
            do="collect ratings of items drawn at random, and give them as unbiased= (--unbiased FILE)",
        )  # fmt: skip


@checked
def audit(
    parts: Any = None,
    systems: Any = None,
    *,
    train: Any = None,
    test: Any = None,
    validation: Any = None,
    recs: Any = None,
    metrics: str | Sequence[str | Spec] = "ndcg@10",
    design: Any = DESIGN,
    relevant_change: str | float | Mapping[str, Any] | None = None,
    unbiased: Any = None,
    threshold: float | None = None,
    population: str = "relevant",
    missing: str = "zero",
    invalid: str = "refuse",
    ties: str = "random",
    items: Any = None,
    users: Any = None,
    only_users: Any = None,
    by: By = None,
    min_group: int = MIN_GROUP,
    columns: Mapping[str, Any] | str | None = None,
    accept: Mapping[str, Any] | None = None,
    simulate: bool | int = False,
    seed: int = 0,
    threads: int | None = None,
) -> Audit:
    """Tell what may be claimed, and whether the numbers can be trusted: data, split, lists and comparisons.

    First an answer for every pair of systems that differ significantly: the order *holds* under every reading of how
    the ratings came about, *depends* on it, or *cannot be told*, for too little is judged. Then the checks, each with
    the effect on your own metric.

    Each check has a verdict. "wrong": a number is not what it claims to be. "caution": a conclusion could change, which
    is tested: two systems differ significantly one way as evaluated, and significantly the other way under the
    alternative; or the paired interval of a value's change excludes all that is not relevant. "fine", or "cannot tell".
    Facts are counted; estimates are tested, with Holm's correction over all tests of the audit.

    Train and test alone are checked for leakage; lists or systems add checks of values and orders, an unbiased test the
    comparison of observed and true orders.

    Parameters
    ----------
    parts : Parts, optional
        What `split` made. Or `train` and `test`.
    systems : name, system, list, or mapping from names to systems, optional
        Systems to fit on train (see `evaluate`); they can be ranked again under other designs.
    train, test : table, file or log, optional
        The train log and the test set, in place of parts.
    validation : table, file or log, optional
        What parameters were chosen on, where the parts do not have it: test rows must not be among it.
    recs : table, file, list of files, or mapping from names to these, optional
        Recommendations already made (see `evaluate_run`), in place of systems.
    metrics : text or list of metrics, default "ndcg@10"
        The metrics whose values and orders are audited.
    design : text or Design, default "AR-TI-AN"
        Which items systems rank. Lists are taken as given.
    relevant_change : text, number or mapping, optional
        The smallest change of a metric that matters to you: 0.005, "1%" (of the best value), or by metric. Default: the
        detectable difference of your data, that is found with 80 % power.
    unbiased : table, file or log, optional
        A second test set of items that were drawn at random.
    threshold : number, optional
        Relevance threshold (see `evaluate`).
    population : {"relevant", "judged", "all"}, default "relevant"
        The users to average over.
    missing : {"zero", "drop", "error"}, default "zero"
        How users without recommendations count.
    invalid : {"refuse", "miss", "drop"}, default "refuse"
        Places of lists that cannot count: items outside the catalogue, and repeated ones (see `evaluate_run`).
    ties : {"random", "expected", "worst", "best", "given"}, default "random"
        Order of items with equal scores.
    items : list of ids, table or file, optional
        The catalogue. Default, for lists: all items of lists, test and train.
    users : table or file, optional
        Table of users with columns to group by.
    only_users : list of ids, table or file, optional
        Measure only these users; checks of the data are about all rows.
    by : text or list of text, optional
        Columns of `users`: is a group served worse?
    min_group : int, default 30
        Groups with fewer users are not tested.
    columns : mapping or text, optional
        Column roles that common names do not tell (see `evaluate_run`), of recs, test, train, validation, unbiased,
        items and users.
    accept : mapping, optional
        Findings to accept: {"check": {"reason": "…", "data": "…"}}, where data is the fingerprint that the audit
        printed. An accepted finding returns when the data change.
    simulate : bool or int, default False
        Also measure the systems in a world like your log, where the truth is known, on five logs of it or so many: how
        far from the truth is your design and metric, and which is nearest? Named systems are fitted anew; where there
        are fewer than four, with usual baselines.
    seed : int, default 0
        Seed of everything random.
    threads : int, optional
        Number of threads. Default: one for each available core.

    Returns
    -------
    Audit
        `claims`, the answers for pairs of systems; the `findings`, each with a verdict, a sentence that begins with the
        effect, figures and a remedy; prints as text; `raise_on("wrong")` raises where something is.

    Raises
    ------
    TruevalError
        For options that contradict each other, and for tables that cannot be read.

    Examples
    --------
    >>> import polars as pl, trueval as tv
    >>> log = pl.DataFrame([(u, (u + j * j) % 11) for u in range(8) for j in range(4)], ["user", "item"], orient="row")
    >>> found = tv.audit(tv.split(log, "holdout", ratio=0.4), ["popularity", "random"], metrics="recall@3")
    >>> found["leaked_pairs"][0].verdict
    'fine'
    """
    with use_threads(threads):
        case = make_case(
            parts, systems, train=train, test=test, validation=validation, recs=recs, metrics=metrics, design=design,
            relevant_change=relevant_change, unbiased=unbiased, threshold=threshold, population=population,
            missing=missing, invalid=invalid, ties=ties, items=items, users=users, only_users=only_users, by=by,
            min_group=min_group, columns=columns, seed=seed,
        )  # fmt: skip
        found = audit_case(case, accept=accept)
        return found if simulate is False else _with_simulation(found, case, simulate)


def _with_simulation(found: Audit, case: Case, simulate: bool | int) -> Audit:
    """The audit with what designs and metrics do in a world like the reader's."""
    from trueval.audit.simulate_designs import LOGS, simulate_designs

    if case.given is None:
        raise DefinitionError("a world is fitted to train and test together", found="no train", do="give train=")
    logs = LOGS if simulate is True else int(simulate)
    record = simulate_designs(case.given, case.subject, logs=logs, seed=case.seed, threshold=case.threshold)
    return replace(found, measured={**found.measured, SIMULATED: record})


def audit_case(case: Case, *, accept: Mapping[str, Any] | None = None) -> Audit:
    """All checks of one case."""
    return audit_repeats({"": case}, accept=accept)


def audit_repeats(cases: Mapping[str, Case], *, accept: Mapping[str, Any] | None = None) -> Audit:
    """All checks of the same systems in several folds or seeds, by name: one audit of them (see `audit.repeats`)."""
    found: list[Finding | Draft] = []
    checks = all_checks()
    with progress("audit", len(checks)) as step:
        for check in checks:
            step(0, f"audit: {check.name}")
            with hushed():
                found += combine_repeats({name: _looked(check, case) for name, case in cases.items()})
            step(1)
    findings, tests = conclude(found)
    first = next(iter(cases.values()))
    described = first.describe()
    data = fingerprint(described["data"] if len(cases) == 1 else {name: one.data() for name, one in cases.items()})
    kept, accepted = accept_findings(findings, accept, known=[check.name for check in checks], data=data)
    kept.sort(key=lambda one: VERDICTS.index(one.verdict))
    claims = combine_claims([make_claims(case) for case in cases.values()])
    repeats = {"repeats": list(cases)} if len(cases) > 1 else {}
    manifest = make_manifest({}) | described | repeats | {"fingerprint": data, "tests": tests, "seed": first.seed}
    return Audit(tuple(kept), tuple(accepted), manifest, vars(first).get("robustness"), first.measurements, claims)


def _looked(check: Check, case: Case) -> list[Finding | Draft]:
    """What a check finds in a case, or what it lacks."""
    lacking = missing_need(check, case.there)
    return list(check.function(case)) if lacking is None else [lacking]
