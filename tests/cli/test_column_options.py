"""--columns over the command tree: every option that reads a table takes roles, for all tables and for it alone.

Tables call their columns by names that nothing recognises. A command must fail without their roles, give the same
numbers as with common names once they are named, and whatever an error recommends must not have been given already.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.cli.app import make_app
from trueval.errors import TruevalError

RNG = np.random.default_rng(4)
USERS, ITEMS = 30, 12
PAIRS = [(u, i) for u in range(USERS) for i in range(ITEMS)]
LISTED = pl.DataFrame(PAIRS, ["user", "item"], orient="row").with_columns(score=pl.Series(RNG.random(len(PAIRS))))
IN_TEST = (
    LISTED.select("user", "item").with_columns(value=pl.Series(RNG.integers(1, 6, len(PAIRS)))).sample(120, seed=1)
)
IN_TRAIN = LISTED.select("user", "item").join(IN_TEST, on=["user", "item"], how="anti").sample(100, seed=2)
TABLES = {
    "recs": LISTED,
    "test": IN_TEST,
    "train": IN_TRAIN.with_columns(value=3, time=pl.Series(RNG.integers(0, 99, 100))),
    "validation": IN_TRAIN.head(9).with_columns(value=3, item=pl.col("item") + 100),
    "unbiased": IN_TEST.head(60),
    "items": pl.DataFrame({"item": range(ITEMS + 1), "kind": [f"k{n % 3}" for n in range(ITEMS + 1)]}),
    "users": pl.DataFrame({"user": range(USERS), "sex": ["fm"[n % 2] for n in range(USERS)]}),
    "propensity": pl.DataFrame({"item": range(ITEMS), "p": [0.1 + 0.05 * n for n in range(ITEMS)]}),
    "log": LISTED.select("user", "item").with_columns(
        reward=pl.Series(RNG.integers(0, 2, len(PAIRS))), propensity=1 / ITEMS
    ),
    "target": LISTED.select("user", "item").with_columns(probability=pl.col("item") / sum(range(ITEMS))),
    "mar": IN_TEST.head(50),
    "predictions": pl.DataFrame({"user": range(200), "prediction": RNG.random(200)}).with_columns(
        item=pl.col("user") % 7, label=(pl.Series(RNG.random(200)) < pl.col("prediction")).cast(pl.Int8)
    ),
}  # fmt: skip
TABLES["fitting"] = TABLES["predictions"].with_columns(
    user=pl.col("user") + 500, prediction=pl.Series(RNG.random(200)).sort(), label=pl.Series([0, 1, 0, 1, 1] * 40)
)

# What each command reads: {name} is the file of a table, which the mapping of columns calls so (or as after the colon).
COMMANDS: dict[str, str] = {
    "evaluate": "evaluate {recs} --test {test} --train {train} --items {items} --users {users} --by sex,kind "
    "--min-group 1 --metrics snips(recall)@3,ndcg@3,epc@3 --propensity {propensity} --threshold 3 --format json",
    "audit": "audit --recs {recs} --test {test} --train {train} --validation {validation} --unbiased {unbiased} "
    "--items {items} --users {users} --by sex --threshold 3 --min-group 1 --format json",
    "track": "track {train:log} {test:log} --items {items} --by kind --format json",
    "ope": "ope {log} --target {target} --estimators ips --format json",
    "calibrate": "calibrate {predictions} --validation {fitting:validation} --format json",
    "split": "split {train:log} --how unbiased --mar {mar} -o {out}",
    "gate": "gate {result} {result} --users {users} --by sex --min-group 2 --margin 90% --format json",
}
# Roles that nothing but their names tells, as far as a table has them.
NAMED = ("user", "item", "score", "prediction", "label", "reward", "probability", "p")


def _places(command: str) -> dict[str, str]:
    """The tables of a command, and what a mapping calls each."""
    found = re.findall(r"\{(\w+)(?::(\w+))?\}", COMMANDS[command])
    return {name: alias or name for name, alias in found if name in TABLES}


class Setting:
    """The files of a command, some of them with columns of strange names."""

    def __init__(self, folder: Path, command: str, result: Path) -> None:
        self.folder, self.command, self.result = folder, command, result

    def run(self, trueval, strange: dict[str, dict[str, str]], columns: str | None = None):
        words = {"out": self.folder / "out", "result": self.result}
        for name in _places(self.command):
            words[name] = self.folder / f"{name}.csv"
            TABLES[name].rename(strange.get(name, {})).write_csv(words[name])
        text = re.sub(r"\{(\w+)(:\w+)?\}", lambda found: str(words[found[1]]), COMMANDS[self.command])
        arguments = [*text.split(), *([] if columns is None else ["--columns", columns])]
        if self.command == "split":
            arguments.append("--force")
        return trueval(*arguments)

    def numbers(self, ran) -> object:
        if self.command == "split":
            return [pl.read_parquet(self.folder / "out" / f"{part}.parquet").rows() for part in ("train", "test")]
        record = json.loads(ran.out)
        record.pop("manifest", None)
        return record


def _strange(name: str) -> dict[str, str]:
    return {role: f"{name}{role[0]}zz" for role in TABLES[name].columns if role in NAMED}


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("columns") / "result"
    tv.evaluate_run(LISTED, IN_TEST, metrics="ndcg@3").save(place)
    return place


CASES = [(command, name) for command in COMMANDS for name in _places(command)]


@pytest.mark.parametrize(("command", "name"), CASES)
def test_roles_of_one_table(trueval, tmp_path: Path, result: Path, command: str, name: str) -> None:
    """Roles that were named for a table alone, in strange columns, leave all numbers as they are."""
    setting, table = Setting(tmp_path, command, result), _places(command)[name]
    usual = setting.run(trueval, {})
    assert usual.code == 0, usual.err
    expected = setting.numbers(usual)
    alike = [other for other, called in _places(command).items() if called == table]
    names = _strange(name)
    strange = {
        other: {role: names[role] for role in _strange(other)} for other in alike if set(_strange(other)) <= set(names)
    }
    refused = setting.run(trueval, strange)
    assert refused.code == 2
    alone = ",".join(f"{table}.{role}={column}" for role, column in names.items())
    ran = setting.run(trueval, strange, alone)
    assert ran.code == 0, ran.err
    assert setting.numbers(ran) == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_roles_of_all_tables_at_once(trueval, tmp_path: Path, result: Path, command: str) -> None:
    """One mapping without tables, which all tables follow, side tables too."""
    setting = Setting(tmp_path, command, result)
    usual = setting.run(trueval, {})
    assert usual.code == 0, usual.err
    names = {role: f"{role[0]}zz{at}" for at, role in enumerate(NAMED)}
    used = {role for name in _places(command) for role in _strange(name)}
    strange = {name: {role: names[role] for role in _strange(name)} for name in _places(command)}
    columns = ",".join(f"{role}={names[role]}" for role in NAMED if role in used and role != "p")
    prefixed = f",propensity.p={names['p']}" if "propensity" in _places(command) else ""
    ran = setting.run(trueval, strange, columns + prefixed)
    assert ran.code == 0, ran.err
    assert setting.numbers(ran) == setting.numbers(usual) if command != "split" else True


# Names from which the role can be guessed, of roles without which a command stops.
LIKELY = {"ope": {"item": "the_item_of_it"}, "calibrate": {"label": "labelx"}}
ADVICE = re.compile(r"--columns (\S+)")


@pytest.mark.parametrize(("command", "name"), CASES)
def test_advice_is_new_and_works_when_it_is_pasted(
    trueval, tmp_path: Path, result: Path, command: str, name: str
) -> None:
    """From error to error, taking the advice each time, a command comes to its result."""
    setting, table = Setting(tmp_path, command, result), _places(command)[name]
    expected = setting.run(trueval, {})
    likely = LIKELY.get(command, {"user": "the_user_of_it", "item": "the_item_of_it"})
    names = {role: column for role, column in likely.items() if role in TABLES[name].columns}
    if command == "evaluate" and name == "propensity":
        pytest.skip("the columns of propensities are renamed where they are not recognised")
    alike = [other for other, called in _places(command).items() if called == table]
    strange = dict.fromkeys(alike, names)
    given: dict[str, str] = {}
    if table in ("items", "users"):  # for all tables, where no table has it
        given = {"item" if table == "items" else "user": "nosuch"}
    for _ in range(6):
        columns = ",".join(f"{role}={column}" for role, column in given.items()) or None
        ran = setting.run(trueval, strange, columns)
        if ran.code == 0:
            break
        assert ran.code == 2
        advice = [word.rstrip(").,;") for word in ADVICE.findall(ran.err)]
        assert advice, ran.err
        role, _, column = shlex.split(advice[0])[0].partition("=")
        assert given.get(role) != column, f"what was given is recommended: {ran.err}"
        if column == "…":  # of a table whose names are not known: what was given for all is wrong
            assert "nosuch" in ran.err, ran.err
            given.pop(role.rpartition(".")[2])
            continue
        given[role] = column
    assert ran.code == 0, ran.err
    assert setting.numbers(ran) == setting.numbers(expected) if command != "split" else True


def test_the_table_has_every_command_with_side_tables() -> None:
    """A command with --columns or with a side table is above, or reads a single log, or has a number of users."""
    single = {
        "ab-plan",
        "study invite",
        "data info",
        "simulate skew",
        "simulate opposed",
        "simulate like",
        "simulate loop",
    }
    found = {name for name, options in _options() if {"--columns", "--items", "--users"} & options}
    sized = {name for name, options in _options() if {"--items", "--users"} <= options and "--columns" not in options}
    assert found - single - sized - set(COMMANDS) == set()


def _options() -> list[tuple[str, set[str]]]:
    import typer

    def walk(command, path: str):
        if hasattr(command, "commands"):
            for name, inner in command.commands.items():
                yield from walk(inner, f"{path} {name}".strip())
        else:
            yield path, {option for one in command.params for option in one.opts}

    return list(walk(typer.main.get_command(make_app()), ""))


def test_what_cannot_be_named_is_refused() -> None:
    for columns, found in [
        ("items.item=sku", "there are no items"),
        ("itms.item=sku", "there is no table 'itms'"),
        ("test.itm=sku", "unknown column role"),
        ({"users.item": "sku"}, "unknown column role"),
        ("test.item=nosuch", "the column given for item does not exist"),
    ]:
        users = TABLES["users"] if "users.item" in columns else None
        with pytest.raises(TruevalError, match=found):
            tv.evaluate_run(LISTED, IN_TEST, metrics="ndcg@3", columns=columns, users=users)
    with pytest.raises(TruevalError, match="there is no table 'items'"):
        tv.read(LISTED, columns="items.item=sku")


def test_python_functions_take_roles_of_side_tables() -> None:
    parts = tv.split(LISTED.select("user", "item"), "holdout", ratio=0.3)
    items, users = (TABLES[name].rename({name[:-1]: f"{name[:-1]}_key_x"}) for name in ("items", "users"))
    asked = {"metrics": "ndcg@3", "interval": "none", "by": ["kind", "sex"], "min_group": 1}
    usual = tv.evaluate(parts, ["popularity"], items=TABLES["items"], users=TABLES["users"], **asked)
    with pytest.raises(TruevalError, match=r"items\.item=item_key_x"):
        tv.evaluate(parts, ["popularity"], items=items, users=users, columns={"item": "sku"}, **asked)
    for columns in ("item=item_key_x,user=user_key_x", {"items.item": "item_key_x", "users.user": "user_key_x"}):
        found = tv.evaluate(parts, ["popularity"], items=items, users=users, columns=columns, **asked)
        assert found.table().equals(usual.table())
    curve = tv.popularity_curve(parts, items=items, columns="items.item=item_key_x")
    assert curve.to_dict() == tv.popularity_curve(parts, items=TABLES["items"]).to_dict()


@pytest.mark.parametrize("how", ["temporal", "user_temporal", "leave_one_out", "rolling"])
def test_a_time_that_is_not_recognised_is_asked_for(trueval, tmp_path: Path, how: str) -> None:
    log = pl.DataFrame({"user": [1, 1, 1, 2, 2, 2], "item": list("abcabd"), "bought_at": [1, 2, 3, 4, 5, 6]})
    log.write_csv(tmp_path / "log.csv")
    ran = trueval("split", tmp_path / "log.csv", "--how", how, "-o", tmp_path / "out")
    assert ran.code == 2
    assert "bought_at looks like a time: columns={'time': 'bought_at'} (--columns time=bought_at)" in ran.err
    more = ["--horizon", "2"] if how == "rolling" else []
    ran = trueval(
        "split", tmp_path / "log.csv", "--how", how, "-o", tmp_path / "out", "--columns", "time=bought_at", *more
    )
    assert ran.code == 0 or "needs times" not in ran.err, ran.err


def test_a_log_is_tracked_by_the_time_that_was_asked_for(trueval, tmp_path: Path) -> None:
    log = pl.DataFrame({"user": [1, 1, 1, 2, 2, 2], "item": list("abcabd"), "boughtAt": [1, 2, 3, 4, 5, 6]})
    log.write_csv(tmp_path / "log.csv")
    ran = trueval("track", tmp_path / "log.csv", "--periods", "2")
    assert (ran.code, "--columns time=boughtAt" in ran.err) == (2, True)
    assert trueval("track", tmp_path / "log.csv", "--periods", "2", "--columns", "time=boughtAt").code == 0
