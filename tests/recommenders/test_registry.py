"""One record per system: names, parameters, what is checked for all of them, and what stays unimported."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError
from trueval.recommenders import registry
from trueval.recommenders.parameters import parameter
from trueval.recommenders.protocol import Recommender, TrainSet
from trueval.recommenders.registry import find, make_system, name_systems, system, systems, text_of

NAMES = systems()


def train_of(rows: list[tuple[int, int, float]], *, users: int = 4, items: int = 5, values: bool = True) -> TrainSet:
    user, item, value = (np.array(column) for column in zip(*rows)) if rows else (np.empty(0, int),) * 3
    log = ByUser.of(user, item, value.astype(float) if values else None, n_users=users)
    return TrainSet(Ids(pl.Series(range(users))), Ids(pl.Series(range(items))), log)


# ---- records -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_system_is_documented(name):
    record = find(name)
    assert record.name == name
    assert len(record.objective) > 10
    assert len(record.reference) > 10
    assert record.summary.endswith((".", "it"))
    assert all(one.meaning for one in record.parameters.values())
    shown = repr(tv.systems(name))
    assert shown.startswith(f"{name}: {record.summary}")
    for part in (record.objective, record.reference, *record.parameters):
        assert part in shown


@pytest.mark.parametrize("name", NAMES)
def test_every_system_can_be_made_and_told_apart(name):
    made = make_system(name)
    assert isinstance(made, Recommender)
    assert text_of(made) == name
    for one in find(name).parameters.values():
        if one.kinds:
            assert getattr(made, one.field) == one.default
            assert one.check(one.default, system=name) == one.default  # defaults keep to their own rules


@pytest.mark.parametrize("name", NAMES)
def test_every_system_checks_what_it_is_given(name):
    for key, one in find(name).parameters.items():
        if not one.kinds:
            continue
        wrong = ["neither", [1], float("nan")]
        if set(one.kinds) <= {"int", "float", "None"}:
            wrong += [True, math.inf]
        if one.low > -math.inf:
            wrong.append(one.low if one.above else one.low - 1)
        if one.high < math.inf:
            wrong.append(one.high + 1)
        if one.kinds == ("str",) and not one.choices:
            wrong = [1, None]
        for value in wrong:
            with pytest.raises(DefinitionError, match=f"{key} of {name}"):
                make_system(name, **{key: value})
    with pytest.raises(DefinitionError, match=f"{name} has no parameter 'wrong'"):
        make_system(name, wrong=1)


@pytest.mark.parametrize("name", [name for name in NAMES if find(name).needs])
def test_every_system_refuses_an_empty_train_set(name):
    with pytest.raises(DataError, match=f"{name} cannot learn from an empty train set"):
        make_system(name).fit(train_of([]))


@pytest.mark.parametrize("name", [name for name in NAMES if find(name).needs])
def test_every_system_refuses_values_that_are_not_finite(name):
    with pytest.raises(DataError, match=r"values must be finite numbers[^$]*user 1, item 2: nan"):
        make_system(name).fit(train_of([(0, 1, 3.0), (1, 2, math.nan)]))


@pytest.mark.parametrize("name", [name for name in NAMES if find(name).needs == "values"])
def test_systems_of_ratings_refuse_a_log_without(name):
    with pytest.raises(DataError, match=f"{name} needs a value column[^$]*implicit data"):
        make_system(name).fit(train_of([(0, 1, 1.0), (1, 2, 1.0)], values=False))


# ---- parameters ----------------------------------------------------------------------------------------------


def test_parameters_have_one_type():
    assert make_system("average", mu=2).mu == 2.0
    assert isinstance(make_system("average", mu=2).mu, float)
    assert isinstance(make_system("userknn", k=np.int32(7)).k, int)
    assert isinstance(make_system("userknn", k=7.0).k, int)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("userknn[k=50]", {"k": 50}),
        (" userknn [ feedback = explicit , k=5 ] ", {"k": 5, "feedback": "explicit"}),
        ("userknn[]", {}),
        ("plsa[tolerance=1e-3]", {"tolerance": 1e-3}),
        ("plsa[seed=none]", {"seed": None}),
        ("popularity[threshold=4]", {"threshold": 4.0}),
    ],
)
def test_parameters_in_brackets(text, made):
    assert repr(make_system(text)) == repr(make_system(text.split("[")[0].strip(), **made))


def test_the_text_of_a_system_is_canonical():
    text = "userknn[feedback=explicit,k=5]"
    assert text_of(make_system("userknn[k=5.0,shrink=0,feedback=explicit]")) == text
    assert text_of(make_system(text)) == text
    assert text_of(make_system("plsa", tolerance=1 / 3)) == f"plsa[tolerance={1 / 3!r}]"
    assert make_system(text_of(make_system("plsa", tolerance=1 / 3))).tolerance == 1 / 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("usernn", "unknown system 'usernn'[^$]*did you mean userknn"),
        ("userknn[k]", "name=value was expected for userknn[^$]*found: k"),
        ("userknn[k=]", "name=value was expected"),
        ("userknn[k=1,k=2]", "k of userknn is given twice"),
        ("userknn[k=two]", "k of userknn must be a whole number[^$]*k=two"),
        ("userknn[k=0]", "k of userknn must be at least 1"),
        ("userknn[k=nan]", "k of userknn must be a whole number"),
        ("userknn[n=2]", "userknn has no parameter 'n'"),
        ("userknn[feedback=explict]", "feedback of userknn cannot be 'explict'[^$]*did you mean explicit"),
        ("userknn[k=2", "could not be read"),
        ("userknn@10", "could not be read"),
        ("", "could not be read"),
        ("optimal_true[test=4]", "cannot be written as text[^$]*Python"),
    ],
)
def test_what_cannot_be_read(text, told):
    with pytest.raises(DefinitionError, match=told):
        make_system(text)


def test_parameters_belong_to_names():
    with pytest.raises(DefinitionError, match="parameters belong to systems given by name"):
        make_system(lambda users: users, k=3)


def test_lists_of_names():
    assert list(name_systems("popularity, userknn[k=5,shrink=1] ,plsa")) == [
        "popularity",
        "userknn[k=5,shrink=1]",
        "plsa",
    ]
    with pytest.raises(DefinitionError, match="two systems are called 'plsa'"):
        name_systems("plsa,plsa")


# ---- registration --------------------------------------------------------------------------------------------


def test_registration_needs_a_name_in_the_table(monkeypatch):
    @dataclass
    class Mine:
        """Everything alike."""

        size: int = parameter(3, "of something", low=1, high=9)

        def fit(self, train):
            return self

        def score(self, users):
            return np.zeros((len(users), 1))

    with pytest.raises(TypeError, match="not in the table"):
        system("mine", objective="none at all", reference="nobody")(Mine)
    monkeypatch.setitem(registry._HOMES, "mine", "baselines")
    monkeypatch.setattr(registry, "_RECORDS", dict(registry._RECORDS))
    system("mine", objective="none at all", reference="nobody", needs=None, caution="is never the same twice")(Mine)
    assert make_system("mine[size=9]").size == 9
    with pytest.raises(DefinitionError, match="size of mine must be at most 9"):
        Mine(size=10)
    assert registry.cautions_on("a", Mine()) == ["a: is never the same twice"]
    monkeypatch.setitem(registry._HOMES, "popularity", "baselines")
    with pytest.raises(TypeError, match="two systems are called popularity"):
        system("popularity", objective="none at all", reference="nobody")(Mine)


def test_the_table_of_names_is_complete():
    """Every registered system is listed, and every listed one is where the table says."""
    for name in NAMES:
        assert find(name).make.__module__ == f"trueval.recommenders.{registry._HOMES[name]}"


def test_listing_systems_imports_nothing_heavy():
    code = (
        "import sys, json; from trueval.recommenders.registry import systems, find; [repr(find(n)) for n in systems()];"
        "print(json.dumps([m for m in ('numba','scipy','sklearn','implicit','pandas','surprise') if m in sys.modules]))"
    )
    assert json.loads(subprocess.check_output([sys.executable, "-c", code])) == []


# ---- command line --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_classes_take_parameters_by_name_only(name):
    made = find(name).make
    with pytest.raises(DefinitionError, match=f"parameters of {name} are given by name"):
        made(1, 2, 3, 4)
    for unknown in ("sed", "_seed", "_users", "_scores"):
        with pytest.raises(DefinitionError, match=f"{name} has no parameter '{unknown}'"):
            made(**{unknown: 1})


@pytest.mark.parametrize(
    "make",
    [
        lambda: tv.Scores(np.eye(2), [1, 2]),
        lambda: tv.Factors(np.eye(2), np.eye(2), [1, 2]),
        lambda: tv.Function(np.eye, True),
        lambda: tv.Function(np.eye, _train=None),
        lambda: tv.Run("recs.csv", {"user": "who"}),
        lambda: tv.Design("1R", "AI"),
    ],
)
def test_options_of_records_have_no_positions(make):
    with pytest.raises(TypeError, match="argument"):
        make()


def test_the_command_lists_and_explains(trueval):
    everything = trueval("systems")
    assert everything.code == 0
    assert all(name in everything.out for name in NAMES)
    one = trueval("systems", "plsa")
    assert one.out == f"{tv.systems('plsa')!r}\n"
    assert trueval("systems", "plsa[factors=3]").out == one.out
    wrong = trueval("systems", "plas")
    assert wrong.code == 2
    assert "did you mean plsa" in wrong.err
    assert not wrong.out


# ---- in an evaluation ----------------------------------------------------------------------------------------


def test_an_evaluation_names_its_systems():
    rows = [(u, (u * 3 + j * j) % 13, float(j % 5 + 1)) for u in range(20) for j in range(5)]
    log = pl.DataFrame(rows, schema=["user", "item", "value"], orient="row").unique(["user", "item"])
    parts = tv.split(log, "holdout", ratio=0.3)
    found = tv.evaluate(
        parts, {"a": "itemknn[k=3]", "b": tv.make_system("plsa", factors=2), "c": "optimal_true"}, metrics="ndcg@5",
        interval="none",
    )  # fmt: skip
    definitions = {name: own["definition"] for name, own in found.manifest["systems"].items()}
    assert definitions == {"a": "itemknn[k=3]", "b": "plsa[factors=2]", "c": "optimal_true"}
    assert [note for note in found.warnings if "oracle" in note] == [
        "c is an oracle: it has read the test part, and its values are a bound for other systems"
    ]
