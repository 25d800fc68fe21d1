"""The fixture trueval_gate: baselines are written, compared with, and fail tests where a system became worse."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest

import trueval as tv

pytest_plugins = ["pytester"]

# as the entry point loads it, whether or not trueval is installed with it here
PLUGIN = ("-p", "no:trueval", "-p", "trueval.report.pytest_plugin", "-p", "no:cacheprovider")
IMPORTED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # its doctests may have imported it before
TEST = """
import polars as pl
import trueval as tv

def result(hits, name="run"):
    test = pl.DataFrame({{"user": range(300), "item": [u % 7 for u in range(300)]}})
    run = test.with_columns(item=pl.when(pl.col("user") < hits).then("item").otherwise(9), rank=pl.lit(1))
    return tv.evaluate_run({{name: run}}, test, metrics="hit@1")

def test_quality(trueval_gate):
    found = trueval_gate(result({hits}, {name!r}), "als", metrics="hit@1", margin="5%"{more})
    assert found is None or found.exit_code in (0, 3)
"""


@pytest.fixture(scope="module", autouse=True)
def _everything_is_imported():
    """Tests within this process forget what they import, and compiled modules cannot be imported twice."""
    test = pl.DataFrame({"user": range(40), "item": range(40)})
    both = [tv.evaluate_run(test.with_columns(item=pl.col("item") // n, rank=1), test, metrics="hit@1") for n in (1, 2)]
    assert str(tv.gate(*both)) + str(tv.gate(*reversed(both)))


@pytest.fixture
def run(pytester):
    def run(hits, *words, more="", name="run"):
        pytester.makepyfile(test_quality=TEST.format(hits=hits, more=more, name=name))
        return pytester.runpytest_inprocess(*PLUGIN, *IMPORTED, *words)

    return run


def test_first_use_needs_the_flag(run, pytester):
    found = run(200)
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*no baseline*als.parquet*--trueval-update*"])
    assert not (pytester.path / "trueval-baselines").exists()


def test_a_baseline_is_written_and_compared_with(run, pytester):
    run(200, "--trueval-update").assert_outcomes(passed=1, warnings=1)
    path = pytester.path / "trueval-baselines" / "als.parquet"
    before = path.read_bytes()
    run(200).assert_outcomes(passed=1)
    run(200, name="renamed").assert_outcomes(passed=1)
    worse = run(100)
    worse.assert_outcomes(failed=1)
    worse.stdout.fnmatch_lines(["*trueval gate als: worse*", "*hit@1*0.6667*0.3333*", "*worse than the old one*"])
    assert path.read_bytes() == before
    run(100, "--trueval-update").assert_outcomes(passed=1, warnings=1)
    run(100).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("unsure", "outcomes"),
    [
        ("warn", {"passed": 1, "warnings": 1}),
        ("xfail", {"xfailed": 1}),
        ("fail", {"failed": 1}),
        ("pass", {"passed": 1}),
    ],
)
def test_what_happens_where_it_cannot_tell(run, pytester, unsure, outcomes):
    run(200, "--trueval-update")
    run(190, "--trueval-unsure", unsure).assert_outcomes(**outcomes)
    run(190, more=f", unsure={unsure!r}").assert_outcomes(**outcomes)
    pytester.makeini(f"[pytest]\ntrueval_unsure = {unsure}\n")
    run(190).assert_outcomes(**outcomes)


def test_baselines_may_be_elsewhere(run, pytester):
    run(200, "--trueval-update", "--trueval-baselines", "kept/here")
    assert (pytester.path / "kept" / "here" / "als.parquet").exists()
    pytester.makeini("[pytest]\ntrueval_baselines = kept/here\n")
    run(200).assert_outcomes(passed=1)


def test_bad_names_and_options_are_refused(run, pytester):
    pytester.makeini("[pytest]\ntrueval_unsure = perhaps\n")
    run(200).assert_outcomes(errors=1)
    pytester.makeini("[pytest]\n")
    pytester.makepyfile(test_quality=TEST.format(hits=200, more="", name="run").replace('"als"', '"../als"'))
    found = pytester.runpytest_inprocess(*PLUGIN, *IMPORTED, "--trueval-update")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*no name for a baseline*"])


def test_it_loads_nothing_heavy():
    code = "import sys, trueval.report.pytest_plugin; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert "trueval" in loaded
    assert loaded.isdisjoint({"numba", "numpy", "pandas", "polars", "scipy", "typer"})


def test_the_entry_point_names_the_module():
    import tomllib
    from pathlib import Path

    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["project"]["entry-points"]["pytest11"] == {"trueval": "trueval.report.pytest_plugin"}
