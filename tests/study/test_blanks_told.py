"""A blank in a served study: what the file says, what the page tells people, what is exported, and what is analysed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from small_studies import settings
from study_sites import make_site, write_study
from visitors import Visitor

import trueval as tv
from trueval.errors import TruevalError
from trueval.study.definition import read_study
from trueval.study.example_study import example_text
from trueval.study.export import export_tables
from trueval.study.simulate import simulate_participants
from trueval.study.simulated_people import SimulatedPeople
from trueval.study.storage import Storage

testclient = pytest.importorskip("starlette.testclient", reason="needs the extra study")

TOLD = {
    "not allowed": "Every list needs a place.",
    "worse": "If you leave a list without a place, it counts as worse than all lists that have one.",
    "not looked at": "Leave a list without a place only if you have not looked at it",
}


def at_the_lists(folder: Path, blanks: str, **sections: Any) -> Visitor:
    """Somebody before the lists of a study with this meaning, without a script."""
    from trueval.study.app import make_app

    site = make_site(folder, rank={"blanks": blanks}, **sections)
    visitor = Visitor(testclient.TestClient(make_app(site), base_url="http://study"))
    return visitor.begin().rate(3).send("/lists")


@pytest.mark.parametrize("blanks", TOLD)
def test_the_page_tells_what_a_blank_means(blanks: str, tmp_path: Path) -> None:
    text = at_the_lists(tmp_path, blanks).page.text
    assert [meaning for meaning, told in TOLD.items() if told in text] == [blanks]


def test_another_language_tells_it_in_its_words(tmp_path: Path) -> None:
    words = {"de": {"rank_blank_worse": "Listen ohne Platz gelten als schlechter als alle anderen."}}
    visitor = at_the_lists(tmp_path, "worse", study={"languages": ["de"]}, words=words)
    assert words["de"]["rank_blank_worse"] in visitor.page.text


@pytest.mark.parametrize(
    ("blanks", "places", "refused"),
    [
        ("not allowed", "1", "every list a place"), ("not allowed", "12", "every list a place"),
        ("not allowed", "123", None), ("worse", "1", None), ("worse", "", "at least one list the first place"),
        ("not looked at", "1", "look at two lists or more"), ("not looked at", "12", None),
    ],
)  # fmt: skip
def test_answers_are_taken_as_the_study_allows(blanks: str, places: str, refused: str | None, tmp_path: Path) -> None:
    visitor = at_the_lists(tmp_path, blanks)
    visitor.send("/answer", **{f"place-{label}": place for label, place in zip("ABC", places)})
    assert visitor.has("/answer") == (refused is not None)
    assert (refused or "") in visitor.page.text


@pytest.mark.parametrize(
    ("given", "told"), [(True, '"worse" (than all lists that have a place)'), (False, 'write blanks = "not allowed"')]
)
def test_the_key_of_earlier_versions_is_refused_with_the_line_to_write(given: bool, told: str, tmp_path: Path) -> None:
    text = example_text("rank").replace('blanks = "not allowed"  ', f"partial = {str(given).lower()}  ")
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(TruevalError, match="no key 'partial'") as refused:
        read_study(path)
    line = next(at for at, one in enumerate(text.splitlines(), 1) if one.startswith("partial"))
    assert f"line {line}: [rank] partial" in refused.value.where
    assert told in refused.value.do


def test_an_unknown_meaning_is_refused() -> None:
    with pytest.raises(TruevalError, match="blanks must be one of not allowed, worse, not looked at"):
        read_study(settings(rank={"blanks": "out"}))


def test_blanks_are_not_allowed_unless_the_file_says_so() -> None:
    study = settings()
    del study["rank"]["blanks"]
    assert read_study(study).blanks == "not allowed"
    assert read_study(settings("pair")).blanks is None
    assert 'blanks = "not allowed"' in example_text("rank")


def test_the_meaning_stays_once_people_have_taken_part(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'answers.sqlite'}"
    Storage.open(read_study(settings(rank={"blanks": "worse"})), url).enrol()
    Storage.open(read_study(settings(rank={"blanks": "worse"})), url)
    for other in ("not looked at", "not allowed"):
        with pytest.raises(TruevalError, match="blanks or seed changed"):
            Storage.open(read_study(settings(rank={"blanks": other})), url)


@pytest.mark.parametrize("blanks", ["worse", "not looked at"])
def test_the_export_says_it_and_the_analysis_follows(blanks: str, trueval: Callable[..., Any], tmp_path: Path) -> None:
    """People leave out what they dislike; the study file, its export and one table of it are analysed alike."""
    path = write_study(tmp_path, rank={"blanks": blanks})
    ran = trueval(
        "study", "simulate", path, "--participants", 30, "--preference", "zz-popular=1,zz-chance=-1,zz-average=0",
        "--disliked", 0.4, "--quiet",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    database = ran.out.split()[-1]
    out = tmp_path / "out"
    assert trueval("study", "export", path, "-o", out, "--format", "csv", "--database", database, "--quiet").code == 0
    assert json.loads((out / "study.json").read_text())["blanks"] == blanks
    assert pl.read_csv(out / "rankings.csv")["blanks"].unique().to_list() == [blanks]
    found = []
    for source in ([path, "--database", database], [out], [out / "rankings.csv"]):
        ran = trueval("study", "analyse", *source, "--format", "json", "--resamples", 100)
        assert ran.code == 0, ran.err
        record = json.loads(ran.out)
        found.append(record["rankings"])
        assert ("No order of the systems can be told" in record["verdict"]) == (blanks == "not looked at")
    assert found[0] == found[1] == found[2]
    assert (found[0]["blanks"], bool(found[0]["strengths"])) == (blanks, blanks == "worse")
    other = {"worse": "not looked at", "not looked at": "worse"}[blanks]
    refused = trueval("study", "analyse", path, "--database", database, "--blanks", other)
    assert refused.code == 2
    assert "told that a blank means something else" in refused.err


def test_tables_of_elsewhere_must_be_told(trueval: Callable[..., Any], tmp_path: Path) -> None:
    tables = tv.study_answers({"a": 1.0, "b": 0.0, "c": -1.0}, participants=20, partial=1.0, seed=2)
    tables["rankings"].write_csv(tmp_path / "answers.csv")
    refused = trueval("study", "analyse", tmp_path / "answers.csv")
    assert refused.code == 2
    assert "40 of 60 places are blank" in refused.err
    for meaning, told in (("worse", "best mean rank"), ("not looked at", "No order of the systems can be told")):
        ran = trueval("study", "analyse", tmp_path / "answers.csv", "--blanks", meaning, "--resamples", 100)
        assert ran.code == 0, ran.err
        assert told in ran.out


@pytest.mark.parametrize("way", ["partial", "disliked", "overlooked"])
def test_simulated_people_leave_no_blanks_where_none_are_allowed(way: str) -> None:
    study = read_study(settings(rank={"blanks": "not allowed"}))
    people = SimulatedPeople(strengths=dict.fromkeys(study.systems, 0.0), **{way: 0.5})  # type: ignore[arg-type]
    with pytest.raises(TruevalError, match="cannot leave lists without a place"):
        simulate_participants(study, people, participants=2, url="sqlite://")


def test_simulated_people_leave_out_what_they_do_not_like(tmp_path: Path) -> None:
    """Of Gumbel's distribution: a list of strength s is blank with chance exp(-e^(s - t)), but for the best."""
    import numpy as np

    tables = tv.study_answers({"a": 1.0, "b": 0.0, "c": -1.0}, participants=4000, disliked=0.4, seed=3)
    placed = tables["rankings"].group_by("system").agg(pl.col("rank").is_not_null().mean()).sort("system")
    least = -np.log(-np.log(0.4))
    rng = np.random.default_rng(1)
    value = np.array([1.0, 0.0, -1.0]) + rng.gumbel(size=(200_000, 3))
    liked = value > least
    liked[np.arange(len(value)), value.argmax(axis=1)] = True
    assert placed["rank"].to_numpy() == pytest.approx(liked.mean(axis=0), abs=0.025)


def test_simulated_people_overlook_any_list_alike() -> None:
    tables = tv.study_answers({"a": 2.0, "b": 0.0, "c": -2.0, "d": 0.0}, participants=3000, overlooked=0.2, seed=3)
    placed = tables["rankings"].group_by("system").agg(pl.col("rank").is_not_null().mean())["rank"].to_numpy()
    assert placed == pytest.approx(share_looked_at(0.2, 4), abs=0.025)
    assert tables["rankings"].group_by("participant").agg(pl.col("rank").count())["rank"].min() == 2


def share_looked_at(chance: float, lists: int) -> float:
    """Share of lists that are looked at where at least two are: by the binomial distribution."""
    from math import comb

    kept = [comb(lists, k) * (1 - chance) ** k * chance ** (lists - k) * max(k, 2) for k in range(lists + 1)]
    return sum(kept) / lists


def test_export_tables_hold_the_meaning_in_every_row(tmp_path: Path) -> None:
    study = read_study(settings(rank={"blanks": "worse"}))
    people = SimulatedPeople(strengths=dict.fromkeys(study.systems, 0.0), disliked=0.5, seed=1)
    stored = export_tables(
        simulate_participants(study, people, participants=5, url=f"sqlite:///{tmp_path / 'one.sqlite'}")
    )
    assert stored["rankings"]["blanks"].to_list() == ["worse"] * 15
