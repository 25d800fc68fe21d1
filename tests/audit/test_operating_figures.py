"""The operating figures of the audit: what is planted is there, strong faults are found, and clean worlds are clean."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from trueval.statistics.binomial import clopper_pearson

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
operating_figures = pytest.importorskip("operating_figures")
operating_page = pytest.importorskip("operating_page")
planted_clean = pytest.importorskip("planted_clean")
planted_faults = pytest.importorskip("planted_faults")
planted_worlds = pytest.importorskip("planted_worlds")

DEVELOPMENT = planted_worlds.DEVELOPMENT
FAULTS = {fault.name: fault for fault in planted_faults.FAULTS}
PROMISED, MOST_FALSE = 0.95, 0.05


@pytest.mark.parametrize("name", FAULTS)
def test_a_strong_fault_is_found_and_changes_the_conclusion(name: str) -> None:
    fault = FAULTS[name]
    planted = fault.plant(DEVELOPMENT, 0, fault.strengths[2])
    audit = planted.audit()
    assert fault.found(audit), audit[fault.check][0].sentence
    assert fault.changed is None or fault.changed(np.array([planted.effect(audit)])).all()


@pytest.mark.parametrize("kind", planted_clean.CLEAN, ids=lambda kind: kind.name)
def test_a_clean_world_raises_nothing(kind) -> None:
    for seed in range(2):
        assert planted_clean.false_alarms(kind.of(DEVELOPMENT, seed)) == ([], [])


def test_a_clean_world_is_observed_by_chance_alone() -> None:
    """Neither the item nor the rating of a pair says whether it is in the log; train is before test."""
    world = DEVELOPMENT.clean(0, users=2000)
    seen = world.mask(world.world.log.frame)
    some = seen.any(axis=1)
    activity = seen[some].mean(axis=1, keepdims=True)
    left = (seen[some] - activity) / np.sqrt(activity * (1 - activity))  # what activity does not explain
    ratings = world.ratings[some]
    z = [np.corrcoef(left.ravel(), ratings.ravel())[0, 1] * np.sqrt(left.size)]
    z += (left.mean(axis=0) * np.sqrt(len(left))).tolist()  # of each item
    assert np.abs(z).max() < 4
    assert world.train["time"].max() < world.test["time"].min()


def test_development_and_reporting_worlds_have_nothing_in_common() -> None:
    sets = list(planted_worlds.GENERATORS.values())
    for one, other in itertools.pairwise(sorted(sets, key=lambda own: own.first_seed)):
        assert one.first_seed + planted_clean.OTHER + 10_000 < other.first_seed
    for reported in sets[1:]:
        assert not set(DEVELOPMENT.users) & set(reported.users)
        assert all(DEVELOPMENT.options[name] != value for name, value in reported.options.items())
        for name in ("items", "per_user", "held_out"):
            assert getattr(DEVELOPMENT, name) != getattr(reported, name)


def test_tasks_take_turns_over_all_faults() -> None:
    """A stop at any time leaves as many worlds, give or take one, of every strong fault; of others at least half."""
    order = operating_figures.tasks("development", 6, 24)
    assert len(set(order)) == len(order) == 6 * 3 * len(FAULTS) + 24
    for stop in range(3 * len(FAULTS), len(order) // 2, 7):
        done = order[:stop]
        strong = [sum(task[1:3] == (name, 2) for task in done) for name in FAULTS]
        weak = [sum(task[1:3] == (name, 0) for task in done) for name in FAULTS]
        assert max(strong) - min(strong) <= 1
        assert min(weak) >= max(strong) // 2


def test_finished_audits_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in operating_figures.ALONE:  # run() sets them: they are put back afterwards
        monkeypatch.setenv(name, operating_figures.ALONE[name])
    kept, todo = tmp_path / "kept.jsonl", [("development", "leakage by pair", level, 0) for level in range(2)]
    first = operating_figures.run(todo[:1], kept, workers=1)
    lines = kept.read_text().splitlines()
    assert len(lines) == len(first) == 1
    second = operating_figures.run(todo, kept, workers=1)
    assert kept.read_text().splitlines()[:1] == lines
    assert [row["level"] for row in second] == [0, 1]
    assert all(row["found"] and row["verdict"] == "wrong" for row in second)
    kept.write_text(kept.read_text().replace(first[0]["made_by"], "other code"))
    assert operating_figures.run(todo[:1], kept, workers=1, minutes=0) == []


def made_up() -> list[dict]:
    """Records of audits: 8 of 10 worlds of a fault found, one false alarm in 20 clean worlds."""
    common = {"set": "reporting", "seconds": 1.0, "effect": None}
    fault = {**common, "what": "seen items", "level": 2, "effect": [0.1, 0.4], "verdict": "caution"}
    clean = {**common, "what": "lists", "level": -1, "facts": []}
    return [
        *({**fault, "seed": seed, "found": seed < 8} for seed in range(10)),
        *({**clean, "seed": seed, "estimates": ["ties_at_cut"] * (seed == 3)} for seed in range(20)),
    ]


def test_tables_are_of_the_records() -> None:
    """Intervals from the beta distribution: 8 of 10 is 44.4 to 97.5 %, 1 of 20 is 0.1 to 24.9 %."""
    text = operating_page.tables(made_up()).replace("\N{NO-BREAK SPACE}", " ")
    assert "| strong: 1 | 0.100 | 0.400 | 100 | 10 | 80.0 [44.4, 97.5] | caution |" in text
    assert "| lists | 20 | 5.0 [0.1, 24.9] | ties_at_cut (1) | none |" in text


def shares(heading: str, column: int) -> dict[tuple[str, str], float]:
    """First two cells and the share of every row of a table of the page."""
    page = (ROOT / "docs" / "operating-figures.md").read_text(encoding="utf-8")
    lines = page[page.index(f"| {heading} |") :].split("\n\n")[0].splitlines()[2:]
    found, name = {}, ""
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        name = cells[0].removesuffix(" †") or name
        found[name, cells[1]] = float(re.match(r"[\d.]+", cells[column])[0])
    return found


def test_the_page_has_every_fault_and_keeps_what_is_promised() -> None:
    found = shares("fault | strength | evaluated", 6)
    assert {name for name, _ in found} == set(FAULTS)
    strong = {name: share for (name, strength), share in found.items() if strength.startswith("strong")}
    assert len(strong) == len(FAULTS)
    assert {name: share for name, share in strong.items() if share < 100 * PROMISED} == {}
    clean = {name: share for (name, _), share in shares("clean audits", 2).items()}
    assert clean["all"] <= 100 * MOST_FALSE


@pytest.mark.slow
def test_operating_figures_of_some_worlds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prints the table; fails where a strong fault is found in significantly fewer than 95 % of its worlds, or where
    significantly more than 5 % of the clean audits raise an alarm."""
    for name in operating_figures.ALONE:
        monkeypatch.setenv(name, operating_figures.ALONE[name])
    todo = operating_figures.tasks("reporting", 20, 120)
    records = operating_figures.run(todo, tmp_path / "kept.jsonl", workers=2)
    with capsys.disabled():
        print("\n" + operating_page.tables(records))
    for name in FAULTS:
        own = [row["found"] for row in records if row["what"] == name and row["level"] == 2]
        assert clopper_pearson(sum(own), len(own), tail=0.025)[1] >= PROMISED, name
    clean = [row for row in records if row["level"] < 0]
    alarms = sum(bool(row["estimates"]) for row in clean)
    assert clopper_pearson(alarms, len(clean), tail=0.025)[0] <= MOST_FALSE
    assert not [row["facts"] for row in clean if row["facts"]]
