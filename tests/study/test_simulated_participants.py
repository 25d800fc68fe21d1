"""Simulated participants: as tables and through the real storage, and whether the analysis finds what was planted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from small_studies import SYSTEMS, settings

import trueval as tv
from trueval.errors import TruevalError
from trueval.online.user_study import planted_checks
from trueval.study import plan
from trueval.study.definition import read_study
from trueval.study.export import export_tables
from trueval.study.simulate import simulate_participants, simulated_address
from trueval.study.simulated_people import SimulatedPeople
from trueval.study.world_people import world_strengths

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
study_coverage = pytest.importorskip("study_coverage")

STRENGTHS = dict(zip(SYSTEMS, (1.0, 0.0, -1.0)))
FAULTS = {"careless": 0.2, "leave": 0.05, "position_bias": 0.5, "no_difference": 0.4, "seed": 7}


def test_the_random_list_has_one_name() -> None:
    assert planted_checks.RANDOM_LIST == plan.RANDOM_LIST


@pytest.mark.parametrize("form", ["rank", "pair"])
def test_storage_holds_what_the_tables_hold(database: str, form: str) -> None:
    """The same people, of the same plan, by way of the database: the same answers.

    Nobody leaves: in the database the number of whoever leaves without an answer goes to somebody else.
    """
    faults = {**FAULTS, "leave": 0.0}
    study = read_study(settings(form, checks={"same": True, "random": True}))
    people = SimulatedPeople(strengths=STRENGTHS, **faults)  # type: ignore[arg-type]
    stored = export_tables(simulate_participants(study, people, participants=12, url=database))
    made = tv.study_answers(STRENGTHS, participants=12, form=form, same=True, random=True, **faults)  # type: ignore[arg-type]
    name = {"rank": "rankings", "pair": "pairs"}[form]
    columns = [column for column in made[name].columns if column != "participant"]
    assert_frame_equal(stored[name].select(columns), made[name].select(columns))
    assert stored["participants"]["finished"].is_null().sum() == made["participants"]["finished"].is_null().sum()
    one, two = (tv.study_analysis({name: tables[name]}) for tables in (stored, made))
    assert_frame_equal(one.table(), two.table())
    assert one.verdict == two.verdict


def test_as_many_leave_in_the_database(database: str) -> None:
    study = read_study(settings("pair"))
    people = SimulatedPeople(strengths=STRENGTHS, **FAULTS)  # type: ignore[arg-type]
    stored = export_tables(simulate_participants(study, people, participants=12, url=database))["participants"]
    made = tv.study_answers(STRENGTHS, participants=12, form="pair", **FAULTS)["participants"]  # type: ignore[arg-type]
    assert 0 < stored["finished"].null_count() == made["finished"].null_count()


def test_scales_by_way_of_the_database(database: str) -> None:
    study = read_study(settings("rate", checks={"same": True, "random": True}))
    storage = simulate_participants(study, SimulatedPeople(strengths=STRENGTHS, seed=3), participants=15, url=database)
    found = tv.study_analysis(export_tables(storage))
    assert found.findings.scales is not None
    assert {one.question for one in found.findings.scales.values} == {"relevance", "novelty"}
    assert found.attendance.finished == 15
    best = max((one for one in found.findings.scales.values if one.question == "relevance"), key=lambda one: one.mean)
    assert best.system == "zz-popular"


def test_real_answers_are_never_mixed_with_simulated_ones(tmp_path: Path, database: str) -> None:
    study = read_study(settings())
    people = SimulatedPeople(strengths=STRENGTHS)
    with pytest.raises(TruevalError, match="must not be mixed"):
        simulate_participants(study, people, participants=2, url=f"sqlite:///{study.folder / study.name}.sqlite")
    assert "simulated" in simulated_address(study)
    simulate_participants(study, people, participants=2, url=database)
    with pytest.raises(TruevalError, match="already holds participants"):
        simulate_participants(study, people, participants=2, url=database)


@pytest.mark.parametrize(
    ("strengths", "message"), [({"zz-popular": 1.0}, "no strength"), ({**STRENGTHS, "other": 0.0}, "no system 'other'")]
)
def test_strengths_must_be_those_of_the_study(strengths: dict[str, float], message: str) -> None:
    with pytest.raises(TruevalError, match=message):
        simulate_participants(
            read_study(settings()), SimulatedPeople(strengths=strengths), participants=1, url="sqlite://"
        )


def test_people_are_the_same_whoever_else_there_is() -> None:
    few, many = (tv.study_answers(STRENGTHS, participants=n, careless=0.3, seed=5)["rankings"] for n in (5, 9))
    assert_frame_equal(few, many.head(len(few)))


@pytest.mark.parametrize("options", [{"careless": 1.5}, {"leave": -0.1}, {"no_difference": -1.0}, {"form": "guess"}])
def test_impossible_people_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(TruevalError):
        tv.study_answers(STRENGTHS, **options)  # type: ignore[arg-type]


def test_choices_follow_the_strengths() -> None:
    """Davidson's chances, with ν = 0.5 and a gap of 1: e / (e + 1 + 0.5 √e) and so on."""
    pairs = tv.study_answers({"a": 1.0, "b": 0.0}, form="pair", participants=6000, no_difference=0.5, seed=2)["pairs"]
    won = pairs.select(pl.when(pl.col("answer") == "left").then("left").when(pl.col("answer") == "right").then("right"))
    weight = np.array([np.e, 1.0, 0.5 * np.sqrt(np.e)])
    counts = [(won.to_series() == "a").sum(), (won.to_series() == "b").sum(), (pairs["answer"] == "none").sum()]
    assert np.array(counts) / 6000 == pytest.approx(weight / weight.sum(), abs=0.02)


def test_first_places_follow_the_strengths() -> None:
    ranked = tv.study_answers({"a": 1.0, "b": 0.0, "c": 0.0}, participants=6000, seed=3)["rankings"]
    first = ranked.filter(pl.col("rank") == 1)["system"].value_counts().sort("system")["count"].to_numpy()
    assert first / 6000 == pytest.approx(np.exp([1, 0, 0]) / np.exp([1, 0, 0]).sum(), abs=0.02)


# ---- the analysis finds what is there, and not what is not -------------------------------------------------------


def holds(world: str, form: str, people: int, rounds: int) -> None:
    """Intervals hold 93 to 97 % (first places, which are exact, at least that); nothing is found in nothing."""
    found = study_coverage.shares(world, form, people, rounds)
    slack = 3 * np.sqrt(0.95 * 0.05 / rounds)
    if "strength" in found:
        assert 0.93 - slack < found["strength"] < 0.97 + slack
    if "first" in found:
        assert found["first"] > 0.95 - slack
    if world == "equal":
        for test in {"Friedman", "any two systems (Holm)", "position bias"} & found.keys():
            assert found[test] < 0.05 + slack, test


@pytest.mark.parametrize(("world", "form"), [("apart", "rank"), ("equal", "pair"), ("equal", "rate")])
def test_coverage_and_errors(world: str, form: str) -> None:
    holds(world, form, 20, 40)


def test_a_planted_position_bias_is_found() -> None:
    assert study_coverage.shares("apart", "pair", 50, 12, 1.0)["position bias"] > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("people", [20, 50])
@pytest.mark.parametrize(
    ("world", "form"),
    [
        ("equal", "rank"), ("apart", "rank"), ("far apart", "rank"), ("equal", "pair"), ("apart", "pair"),
        ("equal", "rate"),
    ],
)  # fmt: skip
def test_coverage_and_errors_in_full(world: str, form: str, people: int) -> None:
    holds(world, form, people, 600)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["rank", "pair"])
def test_planted_position_bias_in_full(form: str) -> None:
    assert study_coverage.shares("apart", form, 50, 300, 1.0)["position bias"] > 0.8


def holds_with_blanks(world: str, people: int, rounds: int, **how: Any) -> None:
    """Where an order is told, intervals hold, for the best system too; in nothing nothing is found."""
    found = study_coverage.blank_shares(world, people, rounds, **how)
    slack = 3 * np.sqrt(0.95 * 0.05 / rounds)
    assert 0.93 - slack < found["strength"] < 0.98 + slack
    assert found["best"] > 0.93 - slack
    if world == "equal":
        for test in ("Friedman", "any two systems (Holm)"):
            assert found[test] < 0.05 + slack, test


@pytest.mark.parametrize("world", ["equal", "apart"])
def test_coverage_where_people_rank_only_what_they_like(world: str) -> None:
    holds_with_blanks(world, 20, 30, blanks="worse", disliked=0.6)


def test_no_order_is_told_where_what_is_not_liked_is_said_to_be_not_looked_at() -> None:
    found = study_coverage.blank_shares("apart", 20, 10, blanks="not looked at", disliked=0.3)
    assert found["order told"] == 0
    assert found["any two systems (Holm)"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("people", [20, 40, 100])
@pytest.mark.parametrize("disliked", [0.3, 0.6])
@pytest.mark.parametrize("world", ["equal", "apart", "far apart"])
def test_coverage_where_people_rank_only_what_they_like_in_full(world: str, disliked: float, people: int) -> None:
    holds_with_blanks(world, people, 600, blanks="worse", disliked=disliked)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["equal", "apart"])
def test_coverage_where_lists_are_overlooked_in_full(world: str) -> None:
    holds_with_blanks(world, 100, 600, blanks="not looked at", overlooked=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("people", [20, 40, 100])
@pytest.mark.parametrize("disliked", [0.05, 0.3, 0.6])
def test_no_order_is_told_in_full(disliked: float, people: int) -> None:
    found = study_coverage.blank_shares("apart", people, 300, blanks="not looked at", disliked=disliked)
    assert found["order told"] < 0.05


@pytest.mark.parametrize("form", ["rank", "pair", "rate"])
def test_careless_participants_fail_planted_checks(form: str) -> None:
    careless, careful = (study_coverage.failed_checks(form, share, people=60) for share in (1.0, 0.0))
    assert careless > 0.5
    assert careful < 0.1


# ---- which offline metric would have told us? --------------------------------------------------------------------


@pytest.fixture(scope="module")
def opposed() -> tuple[tv.World, tv.Parts, list[str]]:
    """A world in which the least liked items are rated most: offline numbers of its log mislead."""
    world = tv.simulate("opposed", users=300, items=120, seed=3)
    return world, tv.split(world.log, "holdout", seed=1), ["popularity", "average", "itemknn", "puresvd", "random"]


def test_people_of_a_world_tell_which_offline_metric_is_right(opposed: tuple[tv.World, tv.Parts, list[str]]) -> None:
    """They order systems as the truth does; the biased test set against it, and a random sample of ratings with it."""
    world, parts, systems = opposed
    truth = {name: world.truth(name, "precision@10", train=parts.train) for name in systems}
    people = world_strengths(world, systems, train=parts.train, participants=150)
    unbiased = world.sample(per_user=40, seed=5).frame.join(parts.train.frame, on=["user", "item"], how="anti")
    results = {
        "log": tv.evaluate(parts, systems, metrics="precision@10", threshold=4),
        "sample": tv.evaluate(
            tv.Parts(parts.train, tv.read(unbiased), how={"how": "sample"}), systems, metrics="ndcg@10", threshold=4,
            design="AR-AI-AN-condensed",
        ),
    }  # fmt: skip
    found = tv.study_analysis(tv.study_answers(people, participants=150, seed=2), against=results)
    assert found.findings.rankings is not None
    assert found.against is not None
    order = [one.system for one in found.findings.rankings.strengths.systems]
    assert (order[0], order[-1]) == (max(truth, key=lambda s: truth[s]), min(truth, key=lambda s: truth[s]))
    tau = {one.metric: one for one in found.against.metrics}
    assert found.against.metrics[0].metric == "sample: ndcg@10"
    assert tau["sample: ndcg@10"].low > 0 > -0.5 > tau["log: precision@10"].tau
    assert any("120 orders" in text for text in found.against.sentences)


def test_equal_people_leave_it_unclear(opposed: tuple[tv.World, tv.Parts, list[str]]) -> None:
    _, parts, systems = opposed
    result = tv.evaluate(parts, systems, metrics="precision@10,recall@10", threshold=4)
    answers = tv.study_answers(dict.fromkeys(systems, 0.0), participants=15, seed=1)
    found = tv.study_analysis(answers, against=result).against
    assert found is not None
    assert all(one.low < 0 < one.high for one in found.metrics)
    assert "unclear" in " ".join(found.sentences) or "None of them is shown" in " ".join(found.sentences)


def test_two_systems_cannot_agree(opposed: tuple[tv.World, tv.Parts, list[str]]) -> None:
    _, parts, _ = opposed
    result = tv.evaluate(parts, ["popularity", "random"], metrics="precision@10", threshold=4)
    with pytest.raises(TruevalError, match="three systems"):
        tv.study_analysis(tv.study_answers({"popularity": 1.0, "random": 0.0}), against=result)


# ---- commands ----------------------------------------------------------------------------------------------------


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    log = pl.DataFrame({"user": ["u", "v"] * 6, "item": [f"i{n}" for n in range(12)], "value": [5, 3] * 6})
    log.write_csv(tmp_path / "log.csv")
    path = tmp_path / "films.toml"
    path.write_text(
        '[study]\ntitle = "Films"\nform = "rank"\n[data]\npath = "log.csv"\n[information]\ntext = "About"\n'
        '[ratings]\nleast = 3\n[rank]\nquestion = "Which?"\n[checks]\nsame = true\n'
        "[systems]\npopularity = {}\nrandom = {}\naverage = {}\n"
    )
    return path


def test_simulate_and_analyse_from_the_command_line(trueval: Callable[..., object], study_file: Path) -> None:
    ran = trueval(
        "study", "simulate", study_file, "--participants", 8, "--preference", "popularity=2,random=0,average=-1"
    )
    assert ran.code == 0, ran.err  # type: ignore[attr-defined]
    words = ran.out.split()[1:]  # type: ignore[attr-defined]
    page = study_file.with_name("study.html")
    ran = trueval(*words, "--first", "popularity", "--report", page)
    assert ran.code == 0, ran.err  # type: ignore[attr-defined]
    assert "popularity, named before, came first for" in ran.out  # type: ignore[attr-defined]
    assert "8 participants" in page.read_text()
    assert not study_file.with_name("films.sqlite").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("simulate", "{study}", "--participants", 3, "--preference", "popularity"), "system=number"),
        (("simulate", "{study}", "--participants", 3, "--preference", "ease=1"), "no system 'ease'"),
        (("analyse", "{study}"), "no answers yet"),
        (("analyse", "nothing.csv"), "no such file"),
        (("plan", "--systems", 5), "either a share"),
        (("plan", "--systems", 5, "--share", 0.1), "above chance"),
    ],
)
def test_bad_commands_say_what_to_do(
    trueval: Callable[..., object], study_file: Path, words: tuple[object, ...], message: str
) -> None:
    ran = trueval("study", *(study_file if word == "{study}" else word for word in words))
    assert ran.code == 2  # type: ignore[attr-defined]
    assert message in ran.err  # type: ignore[attr-defined]
    assert not list(study_file.parent.glob("*.sqlite*"))


def test_plan_from_the_command_line(trueval: Callable[..., object]) -> None:
    ran = trueval("study", "plan", "--systems", 5, "--share", 0.4, "--format", "json")
    assert '"participants": 38' in ran.out  # type: ignore[attr-defined]


def test_one_participant_or_all_users_of_a_world() -> None:
    world = tv.simulate("world", users=12, items=30, ratings=150, seed=3)
    for number in (1, 12):
        assert len(world_strengths(world, ["popularity", "random"], train=world.log, participants=number)) == number
    for number in (0, 13):
        with pytest.raises(TruevalError, match="so many users"):
            world_strengths(world, ["popularity", "random"], train=world.log, participants=number)


@pytest.mark.parametrize(("careless", "median"), [(0.0, np.exp(3.0)), (1.0, np.exp(1.5))])
def test_time_on_a_list(careless: float, median: float) -> None:
    """About 20 seconds, 4.5 without looking; two thirds take between 0.6 and 1.6 times as long."""
    person = SimulatedPeople(strengths=STRENGTHS, careless=careless, seed=1).person(0)
    logs = np.log([person.seconds() for _ in range(4000)])
    assert np.median(logs) == pytest.approx(np.log(median), abs=0.04)
    assert logs.std() == pytest.approx(0.5, abs=0.03)
