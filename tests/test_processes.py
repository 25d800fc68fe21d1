"""trueval in other processes: functions that use it can be sent there, and a fork that would hang is refused."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys
import textwrap
from types import ModuleType
from typing import Any

import pytest

import trueval as tv
from trueval import forks

LIMIT = 300  # seconds after which something that hangs is given up
TEXT = "forked after polars had started its threads"
needs_fork = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="looks at the threads that Linux names")


def first_place(relevant: str) -> float:
    """What the tests let other processes compute: 1 / log2(2), 1 / log2(3), 1 / log2(4)."""
    return tv.measure("dcg@3", ["a", "b", "c"], {relevant})


EXPECTED = pytest.approx([1.0, 0.6309297535714575, 0.5])


def _run(program: str) -> str:
    """What a program prints; one that hangs fails."""
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_package_is_a_module_like_others() -> None:
    assert isinstance(tv, ModuleType)
    assert inspect.ismodule(tv)
    assert set(tv.__all__) <= set(dir(tv))
    assert pickle.loads(pickle.dumps(tv)) is tv
    assert copy.deepcopy(tv) is tv
    assert all(getattr(tv, name) is not None for name in tv.__all__)


def test_names_stay_what_they_are_when_folders_of_the_same_name_are_imported() -> None:

    assert callable(tv.audit)
    assert isinstance(sys.modules["trueval.audit"], ModuleType)


@pytest.mark.parametrize("library", ["cloudpickle", "joblib.externals.cloudpickle", "pyspark.cloudpickle"])
def test_functions_that_use_the_package_can_be_pickled(library: str) -> None:
    cloudpickle = pytest.importorskip(library)
    here: dict[str, Any] = {"tv": tv}
    exec("def place(relevant): return tv.measure('dcg@3', ['a', 'b', 'c'], {relevant})", here)  # by value
    sent = cloudpickle.dumps(here["place"])
    assert [pickle.loads(sent)(one) for one in "abc"] == EXPECTED
    for name in tv.__all__:
        assert pickle.loads(cloudpickle.dumps(getattr(tv, name))) is not None
    assert pickle.loads(cloudpickle.dumps(lambda: tv))() is tv


def test_with_joblib() -> None:
    joblib = pytest.importorskip("joblib")
    first_place("a")  # the parent has computed before
    place = lambda relevant: tv.measure("dcg@3", ["a", "b", "c"], {relevant})  # noqa: E731  # cannot be sent by name
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(place)(one) for one in "abc") == EXPECTED


@pytest.mark.usefixtures("spark")
def test_with_spark() -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    place = lambda relevant: tv.measure("dcg@3", ["a", "b", "c"], {relevant})  # noqa: E731
    assert session.sparkContext.parallelize("abc", 2).map(place).collect() == EXPECTED


@needs_fork
@pytest.mark.parametrize(
    "first",
    [
        "tv.measure('dcg@3', ['a', 'b'], {'a'})",
        "tv.Interactions.of(pl.DataFrame({'user': [1, 2] * 99, 'item': range(198)})).frame.sort('item')",
        "pl.DataFrame({'a': range(99999)}).group_by('a').len()",
    ],
)
def test_a_fork_after_the_first_use_says_what_to_do(first: str) -> None:
    printed = _run(f"""
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        import polars as pl
        import trueval as tv

        def place(relevant):
            return tv.measure("dcg@3", ["a", "b", "c"], {{relevant}})

        {first}
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
            try:
                pool.submit(place, "a").result()
            except tv.TruevalError as refused:
                print(refused)
        print(place("a"))
    """)
    assert TEXT in printed
    assert "spawn" in printed
    assert printed.endswith("1.0\n")  # the parent goes on


@needs_fork
def test_a_fork_before_the_first_use_works() -> None:
    """As with `gunicorn --preload`, where the application only imports."""
    printed = _run("""
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        import polars as pl
        import trueval as tv

        tv.evaluate, tv.audit, tv.measure

        def place(relevant):
            return tv.measure("dcg@3", ["a", "b", "c"], {relevant})

        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
            print(list(pool.map(place, "ab")))
        print(place("a"))
    """)
    assert printed == "[1.0, 0.6309297535714575]\n1.0\n"


@needs_fork
def test_a_fork_of_a_refused_process_is_refused() -> None:
    printed = _run("""
        import os
        import trueval as tv

        tv.measure("dcg@3", ["a", "b"], {"a"})
        if not (child := os.fork()):
            if not (grandchild := os.fork()):
                try:
                    tv.measure("dcg@3", ["a", "b"], {"a"})
                except tv.TruevalError:
                    print("refused", flush=True)
                os._exit(0)
            os.waitpid(grandchild, 0)
            os._exit(0)
        os.waitpid(child, 0)
    """)
    assert printed == "refused\n"


def test_every_public_function_is_refused_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it looks at anything: a new function that forgets this would hang."""
    monkeypatch.setattr(forks._State, "hangs", True)
    functions = [name for name in tv.__all__ if inspect.isfunction(getattr(tv, name))]
    assert len(functions) > 30
    for name in functions:
        with pytest.raises(tv.TruevalError, match=TEXT):
            getattr(tv, name)()
    with pytest.raises(tv.TruevalError, match=TEXT):
        tv.Interactions.of(None)  # type: ignore[arg-type]
