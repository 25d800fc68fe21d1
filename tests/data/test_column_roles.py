"""Roles of columns: recognised, mapped, refused."""

from __future__ import annotations

import polars as pl
import pytest

from trueval.data.column_roles import LOG_ROLES, RUN_ROLES, TableRoles, find_roles, renaming
from trueval.data.read import read
from trueval.data.run_tables import read_run
from trueval.data.table_columns import columns_of, parse_columns
from trueval.errors import DataError, DefinitionError


@pytest.mark.parametrize(
    "user", ["user", "user_id", "userId", "userID", "USER", "uid", "visitorid", "User ID", "user-id"]
)
@pytest.mark.parametrize(
    "item",
    ["item", "item_id", "itemid", "movieId", "iid", "sku", "video_id", "artistID", "product_id", "ItemID"],
)
def test_common_names_of_user_and_item(user: str, item: str) -> None:
    assert find_roles(["x", item, user]) == {"user": user, "item": item}


@pytest.mark.parametrize("value", ["rating", "value", "score", "weight", "watch_ratio", "play_count", "Rating"])
@pytest.mark.parametrize("time", ["timestamp", "time", "ts", "date", "datetime"])
def test_common_names_of_value_and_time(value: str, time: str) -> None:
    found = find_roles(["user", "item", time, value])
    assert (found["value"], found["time"]) == (value, time)


@pytest.mark.parametrize("score", ["score", "prediction", "rating", "value", "weight", "pred", "relevance"])
@pytest.mark.parametrize("rank", ["rank", "position", "pos", "Rank"])
def test_common_names_in_runs(score: str, rank: str) -> None:
    found = find_roles(["user", "item", score, rank], roles=RUN_ROLES)
    assert (found["score"], found["rank"]) == (score, rank)


def test_explicit_mapping_wins_over_names_and_frees_the_others() -> None:
    found = find_roles(["user_id", "uid", "item", "rating"], {"user": "uid"})
    assert found == {"user": "uid", "item": "item", "value": "rating"}


def test_positions_count_from_zero() -> None:
    assert find_roles(["a", "b", "c"], {"user": 2, "item": 0}) == {"user": "c", "item": "a"}


def test_a_role_can_be_declared_absent() -> None:
    assert "value" not in find_roles(["user", "item", "rating", "score"], {"value": None})


def test_roles_of_other_tables_are_skipped() -> None:
    columns = {"user": "u", "item": "i", "rank": "r", "value": "v"}
    assert find_roles(["u", "i", "v"], columns) == {"user": "u", "item": "i", "value": "v"}
    assert find_roles(["u", "i", "r"], columns, roles=RUN_ROLES) == {"user": "u", "item": "i", "rank": "r"}


def test_what_trueval_writes_it_reads_although_another_column_looks_like_a_value() -> None:
    assert find_roles(["user", "item", "value", "rating", "time", "date"])["value"] == "value"
    with pytest.raises(DataError, match="more than one column looks like the value"):
        find_roles(["user_id", "item", "value", "rating"])


@pytest.mark.parametrize(
    ("names", "role"),
    [
        (["user", "user_id", "item"], "user"),
        (["uid", "userId", "item"], "user"),
        (["user", "item_id", "sku"], "item"),
        (["userId", "item", "timestamp", "date"], "time"),
        (["userId", "item", "rating", "score"], "value"),
    ],
)
def test_two_candidates_ask_for_a_mapping(names: list[str], role: str) -> None:
    with pytest.raises(DataError, match=f"more than one column looks like the {role}") as caught:
        find_roles(names, where="log.csv")
    assert f"--columns {role}=" in caught.value.do
    assert caught.value.where == "log.csv"


def test_missing_role_lists_the_columns() -> None:
    with pytest.raises(DataError, match="there is no item column") as caught:
        find_roles(["user", "thing"])
    assert "user, thing" in caught.value.found
    assert "--columns item=" in caught.value.do


def test_mapping_to_a_missing_column_suggests_a_close_one() -> None:
    with pytest.raises(DataError, match="does not exist") as caught:
        find_roles(["usr_key", "item"], {"user": "user_key"}, where="t.csv")
    assert "usr_key, item" in caught.value.found
    assert caught.value.do == "did you mean usr_key?"
    with pytest.raises(DataError, match="does not exist") as caught:  # of several tables, one of which it may fit
        find_roles(["uid", "product_sku"], columns_of({"user": "uid", "item": "product_skuu"}, "test"), where="t.csv")
    assert caught.value.do.startswith("did you mean product_sku? name it with columns={'test.item': 'product_sku'}")


@pytest.mark.parametrize("position", [2, -1, 99])
def test_position_outside_the_table(position: int) -> None:
    with pytest.raises(DataError, match="does not exist"):
        find_roles(["user", "item"], {"user": position})


def test_one_column_for_two_roles() -> None:
    with pytest.raises(DataError, match="two roles"):
        find_roles(["a", "b"], {"user": "a", "item": "a"})


def test_a_needed_column_with_nearly_a_common_name_is_suggested() -> None:
    with pytest.raises(DataError, match="there is no item column") as caught:
        find_roles(["user_id", "movie_ids", "rating"])
    assert caught.value.do == "name it with columns={'item': 'movie_ids'} (--columns item=movie_ids)"
    with pytest.raises(DataError, match="there is no label column") as caught:
        find_roles(["p", "k"], roles=TableRoles(needs=("label",)))
    assert caught.value.do == "name it with columns={'label': …} (--columns label=…)"


def test_a_given_column_that_resembles_none_says_how_to_name_one() -> None:
    with pytest.raises(DataError, match="the column given for user does not exist") as caught:
        find_roles(["a", "item"], {"user": "zzz"})
    assert caught.value.found == "'zzz'; columns a, item"
    assert caught.value.do == "name one of them with columns={'user': …} (--columns user=…)"


def test_the_columns_of_a_wide_table_are_not_all_told() -> None:
    with pytest.raises(DataError, match="there is no user column") as caught:
        find_roles([f"x{i}" for i in range(300)])
    assert caught.value.found.endswith("x19 … (300)")


@pytest.mark.parametrize(
    ("given_by", "do"),
    [
        ("columns", "choose one with columns={'user': 'uid'} (--columns user=uid)"),
        ("option", "choose one with user='uid' (--user uid)"),
        ("name", "rename the right one to user"),
    ],
)
def test_the_advice_fits_how_columns_are_given(given_by, do) -> None:
    with pytest.raises(DataError, match="more than one column looks like the user") as caught:
        find_roles(["uid", "visitor"], roles=TableRoles(needs=("user",), given_by=given_by))
    assert caught.value.do == do


def test_a_kind_of_table_says_what_its_roles_may_be_called() -> None:
    bandit = TableRoles(
        needs=("item",), may_have=("user",), also_called={"item": "action"}, else_called={"user": "round"}
    )
    assert find_roles(["round_id", "action"], roles=bandit) == {"item": "action", "user": "round_id"}
    assert find_roles(["round_id", "uid", "sku"], roles=bandit) == {"item": "sku", "user": "uid"}
    with pytest.raises(DataError, match="more than one column looks like the item"):
        find_roles(["sku", "action"], roles=bandit)
    with pytest.raises(DataError, match="there is no item column"):
        find_roles(["user", "action"])  # in a log an action is what somebody did


def test_own_names_and_several_that_look_alike() -> None:
    names = ["position", "slot", "date", "timestamp"]
    assert find_roles(names, roles=TableRoles(may_have=("position",), own_name_wins=True)) == {"position": "position"}
    assert find_roles(names, roles=TableRoles(may_have=("time",), absent_if_several=("time",))) == {}
    with pytest.raises(DataError, match="more than one column looks like the position"):
        find_roles(names, roles=TableRoles(may_have=("position",)))


def test_parse_columns() -> None:
    assert parse_columns(" user = uid ,item=3, value=,") == {"user": "uid", "item": 3, "value": None}


@pytest.mark.parametrize(
    ("text", "hint"), [("usr=a", "user"), ("rating=a", "value"), ("timestamp=a", "time"), ("zzz=a", "available: ")]
)
def test_unknown_role_gets_a_suggestion(text: str, hint: str) -> None:
    with pytest.raises(DefinitionError, match="unknown column role") as caught:
        parse_columns(text)
    assert hint in caught.value.do


@pytest.mark.parametrize("text", ["user", "user=a,user=b"])
def test_malformed_mapping(text: str) -> None:
    with pytest.raises(DefinitionError):
        parse_columns(text)


def test_renaming_never_collides() -> None:
    names = ["value", "rating", "user", "item", "uid"]
    found = find_roles(names, {"user": "uid", "value": "rating"}, roles=LOG_ROLES)
    new = renaming(names, found, LOG_ROLES)
    renamed = [new.get(name, name) for name in names]
    assert renamed == ["source_value", "value", "source_user", "item", "user"]
    swapped = find_roles(["user", "item"], {"user": "item", "item": "user"})
    assert renaming(["user", "item"], swapped, LOG_ROLES) == {"item": "user", "user": "item"}


@pytest.mark.parametrize("absent", ["value", "time"])
@pytest.mark.parametrize("suffix", ["csv", "txt", "parquet", "jsonl", "inter", "memory"])
@pytest.mark.parametrize("said", [None, ""])
def test_a_role_declared_absent_is_absent_whatever_the_column_is_called(absent, suffix, said, tmp_path) -> None:
    frame = pl.DataFrame(
        {"user": [1, 1], "item": [1, 2], "value": [0.0, 5.0], "time": [3, 4], "source_time": ["a", "b"]}
    )
    path = tmp_path / f"log.{suffix}"
    if suffix in ("csv", "txt"):
        frame.write_csv(path, separator="," if suffix == "csv" else " ")
    elif suffix == "inter":
        kinds = {"user": "token", "item": "token", "value": "float", "time": "float", "source_time": "token"}
        frame.rename({name: f"{name}:{kind}" for name, kind in kinds.items()}).write_csv(path, separator="\t")
    elif suffix != "memory":
        getattr(frame, "write_ndjson" if suffix == "jsonl" else "write_parquet")(path)
    log = read(frame if suffix == "memory" else path, columns={absent: said})
    assert not log.has(absent)
    assert log.has({"value": "time", "time": "value"}[absent])
    assert (
        log.frame["source_value" if absent == "value" else "source_source_time"].len() == 2
    )  # kept, under another name


def test_a_known_layout_without_its_values(tmp_path) -> None:
    (tmp_path / "u.data").write_text("1\t2\t3\t881250949\n")
    for source in (tmp_path, tmp_path / "u.data"):
        log = read(source, columns="value=,time=")
        assert log.frame.columns[:2] == ["user", "item"]
        assert not log.has("value")
        assert not log.has("time")


def test_a_run_whose_score_is_declared_absent_is_ordered_by_its_ranks() -> None:
    run = pl.DataFrame({"user": [1, 1], "item": ["a", "b"], "score": [0.1, 0.9], "rank": [1, 2]})
    assert "score" not in read_run(run, columns={"score": None}).columns
