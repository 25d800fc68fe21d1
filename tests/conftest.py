"""Where tests find the research data, how they run the command line, and a repeatable Hypothesis profile."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, settings

from browser_pages import Browser, started
from trueval.cli import main
from trueval.errors import TruevalError
from trueval.progress import set_quiet

settings.register_profile(
    "trueval", max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("trueval")

os.environ.setdefault("SOURCE_DATE_EPOCH", "1780000000")  # reports of two runs are equal, also around midnight

DATA = Path(os.environ.get("TRUEVAL_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data_folder() -> Callable[[str], Path]:
    """The folder of a research data set, or a skip that says where it was looked for."""

    def folder(name: str) -> Path:
        path = DATA / name
        if not path.exists():
            pytest.skip(f"no {name} in {DATA}: set TRUEVAL_DATA to the folder of data sets")
        return path

    return folder


@pytest.fixture(scope="session")
def assert_result_or_refused() -> Callable[..., TruevalError | None]:
    """Call something with spoiled input: returns the error that says what is wrong, or None where there is a result.

    Anything but a result or an error of trueval fails the test.
    """

    def call(function: Callable[..., object], *arguments: object) -> TruevalError | None:
        refusal = None
        try:
            function(*arguments)
        except TruevalError as error:
            refusal = error
        except Exception as problem:
            pytest.fail(f"{type(problem).__name__} is no error of trueval: {problem}")
        assert refusal is None or refusal.what.strip(), "the error does not say what is wrong"
        return refusal

    return call


@dataclass
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def trueval(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Ran]]:
    """Run a command; returns its exit code, standard output and standard error."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["trueval", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Ran(code, out, err)

    yield run
    set_quiet(False)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a small run, a second one, a test set, a train log and a catalogue."""
    users, items = [f"u{u}" for u in range(10)], [f"i{i}" for i in range(12)]
    for name, step in (("recs", 1), ("other", 5)):
        rows = [(u, items[(n * step + j) % 12], 1 - j / 10) for n, u in enumerate(users) for j in range(5)]
        pl.DataFrame(rows, schema=["user", "item", "score"], orient="row").write_csv(tmp_path / f"{name}.csv")
    truth = [(u, items[(n + j * 2) % 12], float(5 - j)) for n, u in enumerate(users) for j in range(3)]
    pl.DataFrame(truth, schema=["user", "item", "value"], orient="row").write_csv(tmp_path / "test.csv")
    train = [(u, items[(n + 7 + j) % 12], 4.0) for n, u in enumerate(users) for j in range(3)]
    pl.DataFrame(train, schema=["user", "item", "value"], orient="row").write_csv(tmp_path / "train.csv")
    pl.DataFrame({"item": items, "aspects": ["a|b" if i % 2 else "c" for i in range(12)]}).write_csv(
        tmp_path / "items.csv"
    )
    return tmp_path


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    """A Spark of two cores on this machine, started once for each process of tests."""
    sql = pytest.importorskip("pyspark.sql", reason="no PySpark here: pip install 'trueval[spark]'")
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        pytest.skip("no Java here, which Spark needs")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        session = (
            sql.SparkSession.builder.master("local[2]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "OFF")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
    yield session
    session.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of one module: while it runs, nothing else in the process may start an event loop."""
    with started() as running:
        yield running
