"""trueval ope at the command line, on the Open Bandit sample, and the example."""

from __future__ import annotations

import csv
import json
import runpy
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from bandit_worlds import world

import trueval as tv


@pytest.fixture
def bandit(tmp_path: Path) -> Path:
    """A log, a policy, a log of another policy, and some broken files."""
    w = world(1)
    w.log(400, 0, clusters=50).write_csv(tmp_path / "log.csv")
    w.log(400, 0, clusters=50).write_parquet(tmp_path / "log.parquet")
    w.policy.write_csv(tmp_path / "policy.csv")
    w.log(300, 1).write_csv(tmp_path / "other.csv")
    w.log(400, 0).with_columns(propensity=0).write_csv(tmp_path / "zero.csv")
    w.policy.with_columns(pl.col("probability") / 2).write_csv(tmp_path / "half.csv")
    return tmp_path


def test_table_and_formats(trueval, bandit: Path) -> None:
    ran = trueval("ope", bandit / "log.csv", "--target", bandit / "policy.csv", "--clip", 5)
    assert ran.code == 0
    for words in ("snips", "minus naive", "slate", "effective sample size", "clip 5:", "trust:", "users or rounds"):
        assert words in ran.out
    same = trueval("ope", bandit / "log.parquet", "--target", bandit / "policy.csv", "--clip", 5)
    assert same.out.splitlines()[:16] == ran.out.splitlines()[:16]  # the numbers
    record = json.loads(trueval("ope", bandit / "log.csv", "--target", bandit / "policy.csv", "--format", "json").out)
    expected = tv.ope(bandit / "log.csv", bandit / "policy.csv")
    assert record == json.loads(expected.to_json())
    table = trueval("ope", bandit / "log.csv", "--target", bandit / "policy.csv", "--format", "csv").out
    assert pl.read_csv(table.encode()).height == 4 * 6
    for form, words in (("md", "| dr |"), ("latex", r"\midrule")):
        target = bandit / f"out.{form}"
        ran = trueval("ope", bandit / "log.csv", "--target", bandit / "policy.csv", "--format", form, "-o", target)
        assert (ran.code, ran.out) == (0, "")
        assert words in target.read_text()


def test_other_ways_to_say_it(trueval, bandit: Path) -> None:
    for extra in (
        ["--target", "uniform"],
        ["--target", bandit / "other.csv", "--interval", "bootstrap"],
        ["--target", bandit / "policy.csv", "--propensity", "display_share", "--estimators", "ips,sndr"],
        ["--target", bandit / "other.csv", "--propensity", "position_model"],
        ["--target", bandit / "other.csv", "--propensity", f"randomised:{bandit / 'other.csv'}"],
        ["--target", "uniform", "--columns", "position=,user=", "--reward", "click", "--level", "0.9"],
    ):
        ran = trueval("ope", bandit / "log.csv", *extra)
        assert ran.code == 0, ran.err
        assert "ips" in ran.out


BAD = [
    (["zero.csv", "--target", "policy.csv"], "propensities must be above 0"),
    (["log.csv", "--target", "half.csv"], "add up to 1"),
    (["log.csv", "--target", "nowhere.csv"], "no such file"),
    (["log.csv", "--target", "nonsense"], "unknown target policy"),
    (["log.csv", "--target", "column:x"], "no column 'x'"),
    (["log.csv", "--target", "uniform", "--format", "xml"], "unknown format"),
    (["log.csv", "--target", "uniform", "--estimators", "magic"], "unknown estimator"),
    (["log.csv", "--target", "uniform", "--propensity", "column:"], "no column ''"),
    (["log.csv", "--target", "uniform", "--propensity", "randomised"], "must be a file"),
    (["log.csv", "--target", "uniform", "--columns", "position=", "--propensity", "position_model"], "needs positions"),
    (["log.csv", "--target", "uniform", "--context", "age"], "no column 'age'"),
    (["log.csv", "--target", "uniform", "--clip", "-1"], "clip must be"),
    (["log.csv", "--target", "uniform", "-o", "no/such/folder.json"], "cannot be written"),
    (["policy.csv", "--target", "uniform"], "no reward column"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_bad_input_is_one_message(trueval, bandit: Path, monkeypatch, arguments: list[str], words: str) -> None:
    monkeypatch.chdir(bandit)
    before = sorted(bandit.iterdir())
    ran = trueval("ope", *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert words in ran.err
    assert sorted(bandit.iterdir()) == before


def read_rows(path: Path) -> list[tuple[int, int, int, float]]:
    with path.open() as file:
        return [
            (int(r["item_id"]), int(r["position"]), int(r["click"]), float(r["propensity_score"]))
            for r in csv.DictReader(file)
        ]


@pytest.mark.parametrize("campaign", ["all", "men", "women"])
def test_open_bandit_sample(data_folder, campaign: str) -> None:
    """Bernoulli-TS from the uniform-random log: the usual formulas row by row, and beside its own log."""
    folder = data_folder("obd-sample")
    paths = [folder / policy / campaign / f"{campaign}.csv" for policy in ("random", "bts")]
    found = tv.ope(*paths)
    live, own = map(read_rows, paths)
    shown, at = Counter((i, k) for i, k, _, _ in own), Counter(k for _, k, _, _ in own)
    weights = [shown[i, k] / at[k] / p for i, k, _, p in live]
    clicks = [c for _, _, c, _ in live]
    ips = sum(w * c for w, c in zip(weights, clicks)) / len(live)
    assert found["ips"].value == pytest.approx(ips, rel=1e-12)
    assert found["snips"].value == pytest.approx(ips * len(live) / sum(weights), rel=1e-12)
    clip = found.support.clip
    assert found["clipped"].value == pytest.approx(sum(min(w, clip) * c for w, c in zip(weights, clicks)) / len(live))
    assert found.support.effective == pytest.approx(sum(weights) ** 2 / sum(w * w for w in weights))
    for place in (1, 2, 3):
        one = [(w, c) for w, (_, k, c, _) in zip(weights, live) if k == place]
        value = sum(w * c for w, c in one) / len(one)
        assert found["ips", f"position {place}"].value == pytest.approx(value, rel=1e-12)
    itself = found["own log"]
    assert itself.value == pytest.approx(sum(c for _, _, c, _ in own) / len(own))
    for name in ("ips", "snips", "clipped", "dr"):
        one = found[name]
        print(f"{campaign} {name} {one.value:.5f} [{one.low:.5f}, {one.high:.5f}]; ", end="")
        assert one.low <= itself.high
        assert itself.low <= one.high
    print(f"own log {itself.value:.5f} [{itself.low:.5f}, {itself.high:.5f}]")


def test_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "off_policy.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "snips" in out
    assert "truth" in out
