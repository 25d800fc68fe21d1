"""Loops as machine code: called without numba once they are compiled, kept where nobody else can write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trueval.kernels.machine_code import Kernel, kind_of

# orders two lists, one of them with equal scores, and tells whether numba was needed
WORK = """
import sys
import numpy as np
from trueval.kernels import lists
score, item = np.array([1.0, 3.0, 2.0, 2.0, 5.0]), np.arange(5, dtype=np.int32)
start, users = np.array([0, 2, 5]), np.arange(2)
assert lists.order_lists(start, score, item, users, np.uint64(1), False, 0, 2) == -1
print(score.tolist(), item.tolist()[:3], sorted(item.tolist()), "numba" in sys.modules)
"""


def work(folder: Path, before: str = "") -> str:
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", before + WORK], env=surroundings, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_what_was_compiled_is_called_without_numba(tmp_path):
    first, second = work(tmp_path), work(tmp_path)
    assert first == "[3.0, 1.0, 5.0, 2.0, 2.0] [1, 0, 4] [0, 1, 2, 3, 4] True"
    assert second == first.replace("True", "False")
    paths = list(tmp_path.rglob("*.kernel"))
    assert len(paths) == 1
    for path in paths:  # anybody could have written it now
        path.chmod(0o666)
    assert work(tmp_path) == first


def test_damaged_code_is_compiled_again(tmp_path):
    first = work(tmp_path)
    (path,) = tmp_path.rglob("*.kernel")
    whole = path.read_bytes()
    for changed in (whole[:-1], whole[:40] + b"?" + whole[41:], b""):
        path.write_bytes(changed)
        assert work(tmp_path) == first
        assert path.read_bytes() == whole


def test_a_loop_refers_to_nothing_outside():
    from numba import njit

    from trueval.kernels.extract_code import NoMachineCode, compile_loop

    @njit(no_cpython_wrapper=True)
    def allocates(size):
        return np.zeros(size)[0]

    with pytest.raises(NoMachineCode, match="the loop allocates refers to"):
        compile_loop(allocates, [3])


# evaluates runs in files: ids of every kind, in order and not
EVALUATE = """
import sys
import tempfile
import numpy as np
import polars as pl
import trueval as tv
rng = np.random.default_rng(1)
users, length = 60, 12
lists = pl.DataFrame({
    "user": np.repeat(np.arange(users), length),
    "item": np.concatenate([rng.permutation(40)[:length] for _ in range(users)]),
    "score": np.tile(-np.arange(length, dtype=np.float32), users),
})
test = lists.filter(pl.col("score") > -3).select("user", "item")
with tempfile.TemporaryDirectory() as folder:
    for form in ("{}", "id {}", "an id of many letters {}"):
        for column in ("score", "item"):
            for metrics in (["ndcg@5", "recall@5"], ["ndcg", "coverage@5"]):
                ids = [pl.format(form, role).alias(role) if "id" in form else pl.col(role) for role in ("user", "item")]
                recs = lists.sort("user", column, descending=column == "score").sample(
                    fraction=1, shuffle=column == "item", seed=3)
                recs.with_columns(ids).write_parquet(folder + "/recs.parquet")
                test.with_columns(ids).write_parquet(folder + "/test.parquet")
                tv.evaluate_run(folder + "/recs.parquet", folder + "/test.parquet", metrics=metrics, interval="none")
print("numba" in sys.modules)
"""


def test_a_second_process_evaluates_without_numba():
    """Every loop on the way has code that can be kept: others would be compiled in each process."""
    surroundings = {**os.environ, "TRUEVAL_KERNELS": "compiled"}
    said = [
        subprocess.run([sys.executable, "-c", EVALUATE], env=surroundings, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert said[1].stdout == "False\n"


def test_where_numba_does_not_give_its_code_it_calls_the_function_itself(tmp_path):
    """Its inner parts may have other names in another version, and machines other needs."""
    other = """
import trueval.kernels.extract_code as extract
def compile_loop(function, arguments):
    raise extract.NoMachineCode("as on another machine")
extract.compile_loop = compile_loop
"""
    assert work(tmp_path, other) == work(tmp_path, other) == work(tmp_path / "whole")
    assert not list(tmp_path.glob("*.code.kernel"))


def test_a_numba_with_other_inner_parts_is_told_apart_from_a_defect(monkeypatch):
    from numba import njit
    from numba.core.codegen import CPUCodeLibrary

    from trueval.kernels.extract_code import NoMachineCode, compile_loop

    monkeypatch.delattr(CPUCodeLibrary, "serialize_using_object_code")
    with pytest.raises(NoMachineCode, match="numba does not give the code of"):
        compile_loop(njit(no_cpython_wrapper=True, _nrt=False)(lambda x: 2 * x), [3])


@pytest.mark.parametrize(
    "value",
    [
        np.zeros(3, np.int32), np.zeros((2, 3)), np.zeros((4, 3))[:, 1], np.asfortranarray(np.zeros((2, 3))),
        np.frombuffer(bytes(8), np.float32), np.zeros(2, bool), np.frombuffer(bytes(9), np.uint8)[1:].view(np.int64),
        7, 2**63, -1, np.uint64(3), np.float32(1), 0.5,
    ],
    ids=str,
)  # fmt: skip
def test_kinds_differ_where_numba_compiles_anew(value):
    """Two arguments of one kind must be of one type to numba."""
    from numba import typeof

    others = [np.zeros(3), np.zeros(3, np.int32), np.zeros((2, 3)), 1, 2**63 + 1, np.uint64(1), 2.0, np.zeros(1, bool)]
    for other in others:
        if kind_of(value) == kind_of(other):
            assert typeof(value) == typeof(other)


def test_numbers_and_arrays_arrive_as_they_are():
    """The first of the loops with arrays of all layouts, at both ends of the numbers."""
    look_up = Kernel("integer_ids", "look_up")
    table = np.array([5, 6, 7], np.int32)
    strided = np.arange(12)[::4]
    for values, low in (
        (strided, np.int64(0)), (np.array([2**64 - 1, 2**64 - 3], np.uint64), np.uint64(2**64 - 3)),
        (np.array([-(2**63)]), np.int64(-(2**63))), (np.empty(0, np.int64), np.int64(1)),
    ):  # fmt: skip
        out = np.zeros(len(values), np.int32)
        look_up(values, low, table, out)
        places = [int(value) - int(low) for value in values]
        assert out.tolist() == [table[place] if place < 3 else -1 for place in places]
