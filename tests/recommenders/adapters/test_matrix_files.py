"""Factors and scores from files, by order or by ids."""

from __future__ import annotations

import numpy as np
import pytest
from adapter_worlds import parts, told, with_strangers, world
from scipy import sparse

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.facts.from_scores import rank_system


@pytest.fixture
def matrices() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(50, 4)).astype(np.float32), rng.normal(size=(35, 4)).astype(np.float32)


@pytest.mark.parametrize("names", [("users", "items"), ("user_factors", "item_factors")])
def test_factors_from_one_archive(tmp_path, matrices, names):
    np.savez(tmp_path / "model.npz", **dict(zip(names, matrices)))
    train, _ = world()
    system = tv.Factors.read(tmp_path / "model.npz").fit(train)
    for found, wanted in zip(system.factors(), matrices):
        np.testing.assert_array_equal(found, wanted)


def test_factors_from_two_files(tmp_path, matrices):
    for name, matrix in zip(("u", "i"), matrices):
        np.save(tmp_path / f"{name}.npy", matrix)
    train, _ = world()
    system = tv.Factors.read(tmp_path / "u.npy", tmp_path / "i.npy").fit(train)
    np.testing.assert_allclose(system.score(np.arange(50)), matrices[0] @ matrices[1].T, rtol=1e-5)


def test_ids_in_the_file_say_whose_rows_they_are(tmp_path, matrices):
    train, task = world()
    u, i = (np.random.default_rng(4).permutation(n) for n in (50, 35))
    users, items = train.users.values.to_numpy().astype(str)[u], train.items.values.to_numpy().astype(str)[i]
    np.savez(tmp_path / "m.npz", users=matrices[0][u], items=matrices[1][i], user_ids=users, item_ids=items)
    np.savez(tmp_path / "s.npz", scores=(matrices[0] @ matrices[1].T)[np.ix_(u, i)], user_ids=users, item_ids=items)
    plain = tv.Factors(*matrices).fit(train)
    for system in (tv.Factors.read(tmp_path / "m.npz").fit(train), tv.Scores.read(tmp_path / "s.npz").fit(train)):
        np.testing.assert_allclose(system.score(np.arange(50)), plain.score(np.arange(50)), rtol=1e-5, atol=1e-6)
        facts = [rank_system(one, task, depth=5).list_item for one in (system, plain)]
        np.testing.assert_array_equal(*facts)


def test_scores_from_files(tmp_path, matrices):
    train, _ = world()
    scores = matrices[0] @ matrices[1].T
    np.save(tmp_path / "dense.npy", scores)
    np.savez(tmp_path / "named.npz", anything=scores)
    sparse.save_npz(tmp_path / "sparse.npz", sparse.coo_matrix(scores))
    for name in ("dense.npy", "named.npz", "sparse.npz"):
        system = tv.Scores.read(tmp_path / name).fit(train)
        np.testing.assert_array_equal(system.score(np.array([3, 0])), scores[[3, 0]])
    result = tv.evaluate(parts(), {"mine": tv.Scores.read(tmp_path / "dense.npy")}, metrics="ndcg@5", interval="none")
    assert 0 <= result["mine", "ndcg@5"].value <= 1


def test_files_that_cannot_be_used(tmp_path, matrices):
    np.savez(tmp_path / "other.npz", p=matrices[0], q=matrices[1])
    np.save(tmp_path / "one.npy", matrices[0])
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (tmp_path / "broken.npz").write_bytes(b"PK nothing")
    (tmp_path / "text.csv").write_text("1,2\n")
    refused = {
        "other.npz": r"has no users[^$]*p, q[^$]*users or user_factors",
        "one.npy": r"contains only one matrix[^$]*users and items",
        "objects.npy": r"could not be read",
        "broken.npz": r"could not be read",
        "text.csv": r"\.npy and \.npz",
        "nowhere.npy": r"no such file",
    }
    for name, message in refused.items():
        with pytest.raises(DataError, match=message):
            tv.Factors.read(tmp_path / name)


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (tv.Factors(np.zeros((50, 2)), np.zeros((35, 2)), user_ids=["a"]), r"1 ids for 50 users"),
        (tv.Factors(np.array([["a", "b"]] * 50), np.zeros((35, 2))), r"user factors are not numbers"),
        (tv.Factors(np.zeros((49, 2)), np.zeros((35, 2))), r"expected 50 users × 35 items"),
        (tv.Scores(np.zeros((50, 34)), user_ids=[f"u{k:02d}" for k in range(50)]), r"expected 50 users × 35 items"),
        (tv.Scores(np.zeros(50), user_ids=["a"]), r"does not fit the data"),
        (tv.Scores(sparse.csr_matrix(np.full((50, 35), np.nan))), r"values that are not finite"),
        (tv.Factors(np.zeros((2, 2)), np.zeros((35, 2)), user_ids=["x", "y"]), r"knows none of the users"),
        (tv.Factors(np.zeros((2, 2)), np.zeros((35, 2)), user_ids=["x", "u01"]), r"does not know users of the train"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(system, message):
    train, _ = world()
    with pytest.raises(DataError, match=message):
        system.fit(train)


def test_rules_and_order_are_checked():
    train, _ = world()
    with pytest.raises(DefinitionError, match="unknown cannot be 'zero'"):
        tv.Scores(np.zeros((50, 35)), unknown="zero").fit(train)
    for system in (tv.Scores(np.zeros((2, 2))), tv.Function(lambda users: users)):
        with pytest.raises(DataError, match="has not been fitted"):
            system.score(np.array([0]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("named", [False, True])
def test_scores_that_are_not_numbers_are_refused_when_ranked(bad, named):
    train, task = world()
    scores = np.random.default_rng(0).random((50, 35))
    scores[7, 3] = bad
    ids = {"user_ids": train.users.values, "item_ids": train.items.values} if named else {}
    with pytest.raises(DataError, match=r"not a finite number[^$]*'u07'"):
        rank_system(tv.Scores(scores, **ids).fit(train), task)


@pytest.mark.parametrize("form", ["factors", "scores"])
def test_unknown_ids_of_matrices(form, matrices):
    train, task = told(with_strangers(parts()))
    names = {"user_ids": train.users.values[:-1], "item_ids": train.items.values[:-1]}

    def make(unknown: str):
        if form == "factors":
            return tv.Factors(*matrices, **names, unknown=unknown)
        return tv.Scores(matrices[0] @ matrices[1].T, **names, unknown=unknown)

    with pytest.raises(DataError, match=r"does not know every item[^$]*'i99'"):
        rank_system(make("error").fit(train), task)
    system = make("last").fit(train)
    facts = rank_system(system, task, depth=40)
    last = facts.list_item[facts.list_start[1:] - 1]
    assert (last[facts.unit_user < 50] == 35).all()
    assert "'i99': ranked last" in system.caution
    assert "'u99': all tied" in system.caution
