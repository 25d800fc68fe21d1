"""Bring together what an audit was given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from trueval.audit.case import Case
from trueval.audit.finished_result import FinishedResult
from trueval.audit.given_runs import GivenRuns
from trueval.audit.readings import displayed_spec
from trueval.audit.subject import Subject
from trueval.comparison.margins import Margins, parse_margins
from trueval.data.interactions import Interactions
from trueval.data.items import read_items
from trueval.data.judgements import check_threshold
from trueval.data.pair_keys import repeated_rows
from trueval.data.role_names import ColumnMap
from trueval.data.table_columns import read_columns
from trueval.data.users import read_user_ids, read_users
from trueval.errors import DataError, DefinitionError
from trueval.evaluation.groups import names_of
from trueval.evaluation.held_out import read_log
from trueval.evaluation.options import EvaluationOptions, for_given_lists
from trueval.evaluation.outcome import Evaluation
from trueval.evaluation.population import check_user_table
from trueval.evaluation.runs import name_runs
from trueval.splits.given import of_one_type
from trueval.splits.parts import Parts

if TYPE_CHECKING:
    from trueval.audit.fitted_systems import FittedSystems

DESIGN = "AR-TI-AN"  # of systems, where the reader names none
_KEYS = ["user", "item"]


def make_case(
    parts: Any, systems: Any, *, train: Any, test: Any, validation: Any, recs: Any, metrics: Any, design: Any,
    relevant_change: Any, unbiased: Any, threshold: float | None, population: str, missing: str, invalid: str,
    ties: str, items: Any, users: Any, only_users: Any, by: Any, min_group: int, columns: Any, seed: int,
    propensity: Any = None,
) -> Case:  # fmt: skip
    """The case, with its tables read and its options checked."""
    roles = read_columns(
        columns, recs=recs, test=test, train=train, validation=validation, unbiased=unbiased, items=items, users=users,
        only_users=only_users,
    )  # fmt: skip
    if roles and only_users is not None:
        only_users = read_user_ids(only_users, columns=roles)
    items = None if items is None else read_items(items, columns=roles)
    options = EvaluationOptions(
        metrics=metrics, threshold=threshold, population=population, missing=missing, invalid=invalid, ties=ties,
        interval="none", seed=seed, min_group=min_group, only_users=only_users, propensity=propensity,
    )  # fmt: skip
    check_user_table(users, by)
    if systems is not None and recs is not None:
        raise DefinitionError("systems and recs are both given", do="audit lists (recs) or systems, one at a time")
    if recs is not None and str(design) != DESIGN:
        raise DefinitionError(
            "lists have no design: they are audited as given", found=f"design {design}",
            do="leave the design out, or audit systems, which are ranked under it",
        )  # fmt: skip
    given, own_test, own_train, unbiased_test = _logs(parts, train, test, validation, unbiased, roles)
    check_threshold(own_test, threshold)
    clean, leaked = _without_leaked(own_test, own_train)
    if not len(clean.frame) and (recs is not None or systems is not None):
        raise DataError(
            "every test row has its user and item in train, so that nothing is left to measure",
            where=own_test.name, found=f"{len(leaked):,} rows", do="use a test set that was held out",
        )  # fmt: skip
    subject: Subject | None = None
    if recs is not None:
        subject = GivenRuns(
            name_runs(recs), clean, for_given_lists(options), train=own_train, items=items, columns=roles,
            leaked_rows=leaked, unbiased_test=unbiased_test,
        )  # fmt: skip
    elif systems is not None:
        subject = _fitted(given, clean, unbiased_test, systems, options, design=design, items=items, leaked=leaked)
    if subject is not None and not subject.labels:
        raise DefinitionError(
            "no metric has a value for each user and a better side, so that no difference can be tested",
            where="metrics", found=", ".join(subject.specs), do="audit one that has, as ndcg@10",
        )  # fmt: skip
    if propensity is not None:
        _check_propensity(subject)
    margins: Margins | None = None if relevant_change is None else parse_margins(relevant_change)
    table = _user_table(users, (own_test, own_train), by, roles)
    return Case(
        own_test, own_train, given, leaked, subject, margins, unbiased_test is not None and subject is not None,
        tuple(names_of(by)), table, min_group, seed, threshold, unbiased_test,
    )  # fmt: skip


def _check_propensity(subject: Subject | None) -> None:
    """Refuse propensities that no order would be read with."""
    if subject is None or not any(displayed_spec(subject.specs[label]) for label in subject.labels):
        raise DefinitionError(
            "propensities are for orders of systems on metrics that can be weighted", where="propensity",
            found="no systems" if subject is None else ", ".join(subject.labels),
            do="give recs or systems, and a metric that ips(…) takes, as ndcg@10; or leave propensity out",
        )  # fmt: skip


def case_of_result(
    evaluation: Evaluation, *, observed: Evaluation | None, parts: Any, relevant_change: Any, users: Any, by: Any,
    min_group: int,
) -> Case:  # fmt: skip
    """The case of a finished result, with the parts that it was made from where they are given."""
    made = (observed or evaluation).manifest
    options = EvaluationOptions(
        metrics=list(evaluation.specs.values()), threshold=made.get("threshold"), population=made["population"],
        missing=made.get("missing") or "zero", invalid=made.get("invalid") or "refuse",
        ties=made["ties"], compat=made.get("compat"), interval="none",
        seed=made.get("seed", 0), min_group=min_group,
    )  # fmt: skip
    given, test, train, leaked = None, None, None, pl.DataFrame()
    if parts is not None:
        given, test, train, _ = _logs(parts, None, None, None, None, None)
        _check_data(made.get("data", {}), test, train)
        _, leaked = _without_leaked(test, train)
    subject = FinishedResult(evaluation, options, observed=observed)
    margins = None if relevant_change is None else parse_margins(relevant_change)
    table = _user_table(users, (test, train), by, None)
    return Case(
        test, train, given, leaked, subject, margins, observed is not None, tuple(names_of(by)), table, min_group,
        options.seed, options.threshold,
    )  # fmt: skip


def _check_data(made: Mapping[str, Any], test: Interactions, train: Interactions | None) -> None:
    """Refuse parts that the result was not made from."""
    for name, log in (("train", train), ("test", test)):
        if log is not None and name in made and made[name] != log.fingerprint():
            raise DataError(
                f"the result was made from another {name} part", where="audit", found=log.name,
                do="give the parts that were evaluated",
            )  # fmt: skip


def _logs(
    parts: Any, train: Any, test: Any, validation: Any, unbiased: Any, columns: Mapping[str, Any] | None
) -> tuple[Parts | None, Interactions, Interactions | None, Interactions | None]:
    """Parts as given, test, train and the unbiased test."""
    true = None if unbiased is None else read_log(unbiased, columns, name="unbiased")
    if parts is not None:
        if not isinstance(parts, Parts):
            raise DefinitionError(
                "audit needs the parts of a split",
                found=type(parts).__name__,
                do="tv.split(log, …), or train= and test=",
            )
        if train is not None or test is not None:
            raise DefinitionError("parts and train or test are both given", do="give the parts, or train and test")
        if validation is not None:
            parts = replace(
                parts, validation=of_one_type(parts.test, read_log(validation, columns, name="validation"))[1]
            )
        if parts.observed is not None and true is None:  # the reader sees the biased test; the other one is the truth
            parts, true = replace(parts, test=parts.observed, observed=None), parts.test
        return parts, parts.test, parts.train, true
    if test is None:
        raise DefinitionError("there is nothing to audit", found="no test set", do="give parts, or train= and test=")
    own_test = read_log(test, columns, name="test")
    if true is not None:
        true = of_one_type(own_test, true)[1]
    if train is None:
        if validation is not None:
            raise DefinitionError("a validation set is audited with train and test", found="no train", do="give train=")
        return None, own_test, None, true
    own_train = read_log(train, columns, name="train")
    others = [] if validation is None else [read_log(validation, columns, name="validation")]
    own_train, own_test, *more = of_one_type(own_train, own_test, *others)
    chosen_on = more[0] if more else None
    return Parts(own_train, own_test, chosen_on, how={"how": "given"}), own_test, own_train, true


def _without_leaked(test: Interactions, train: Interactions | None) -> tuple[Interactions, pl.DataFrame]:
    """The test set without rows whose pair is in train, and these rows."""
    if train is None:
        return test, test.frame.head(0)
    near = repeated_rows({"train": train.frame, "test": test.frame})
    pairs = near["train"].select(_KEYS).unique()
    leaked = near["test"].join(pairs, on=_KEYS, how="semi")
    if not len(leaked):
        return test, leaked
    clean = test.frame.join(pairs, on=_KEYS, how="anti", maintain_order="left")
    return test.keep(clean), leaked


def _fitted(
    given: Parts | None, clean: Interactions, unbiased: Interactions | None, systems: Any, options: EvaluationOptions,
    *, design: Any, items: Any, leaked: pl.DataFrame,
) -> FittedSystems:  # fmt: skip
    from trueval.audit.fitted_systems import FittedSystems  # what fits systems is not needed for lists

    if given is None:
        raise DefinitionError("systems are fitted on train", found="no train log", do="give parts, or train=")
    observed = None
    if unbiased is not None:
        pairs = given.train.frame.select(_KEYS).unique()
        observed = unbiased.keep(unbiased.frame.join(pairs, on=_KEYS, how="anti", maintain_order="left"))
    parts = replace(given, test=clean, observed=observed)
    return FittedSystems(parts, systems, options, design=design, items=items, leaked_rows=leaked)


def _user_table(
    users: Any, logs: tuple[Interactions | None, ...], by: Any, columns: ColumnMap | None
) -> pl.DataFrame | None:
    """The table of users with the groups that are asked for; None where none are."""
    if not by:
        return None
    own = next((log.users for log in logs if log is not None and log.users is not None), None)
    if users is None and own is None:
        raise DefinitionError(
            "groups need a table of users", where="by", found=f"by={by!r}, and no users",
            do="give users= (--users FILE), one row per user",
        )  # fmt: skip
    return own if users is None else read_users(users, columns=columns)
