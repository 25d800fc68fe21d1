"""Items, search, browsing and lists: against plain definitions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from study_sites import study_settings, write_study

from trueval.errors import TruevalError
from trueval.recommenders.new_users import score_new_user
from trueval.study.catalogue import check_scale, read_catalogue
from trueval.study.definition import read_study
from trueval.study.finding import Browsing, Finder, folded
from trueval.study.lists import fit_systems
from trueval.study.plan import RANDOM_LIST

TITLES = ["Amélie", "The Matrix", "Matrix Reloaded", "Le Fabuleux Destin d'Amélie Poulain", "Żółw i Straße", "2001"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("amelie", [0, 3]), ("AMÉLIE", [0, 3]), ("ame\u0301lie", [0, 3]), ("trix", [1, 2]), ("matrix the", [1]),
        ("zolw", [4]),
        ("strasse", [4]), ("01", [5]), ("  ", []), ("nothing", []), ("d'am", [3]), ("x" * 10_000, []),
    ],
)  # fmt: skip
def test_search_in_any_part_without_case_and_accents(query: str, found: list[int]) -> None:
    assert sorted(Finder(TITLES, np.arange(6)).find(query)) == found


def test_words_that_begin_come_first_then_popular_ones() -> None:
    titles = ["Remake", "Make it", "Makers", "The make"]
    assert Finder(titles, np.array([9, 1, 2, 3])).find("make") == [3, 2, 1, 0]
    assert Finder([f"film {i}" for i in range(100)], np.arange(100)).find("film") == list(range(99, 79, -1))
    assert folded("ﬁlm №") == "film no"


@pytest.mark.parametrize("popular", [0.0, 0.25, 0.5, 1.0])
def test_pages_have_the_stated_mix_and_every_item_once(popular: float) -> None:
    browsing = Browsing(np.arange(200), popular, popular_items=0.2, size=8, seed=3)
    pages = [browsing.page(4, number) for number in range(browsing.pages)]
    assert sorted(code for page in pages for code in page) == list(range(200))
    for page in pages[:4]:
        assert sum(code >= 160 for code in page) == pytest.approx(8 * popular, abs=1e-9)
    assert pages == [browsing.page(4, number) for number in range(browsing.pages)]
    assert pages != [browsing.page(5, number) for number in range(browsing.pages)]
    first = Counter(code for person in range(400) for code in browsing.page(person, 0) if code >= 160)
    if popular == 0.5:  # 1,600 popular items shown, 40 of them: each about 40 times
        assert min(first.values()) > 15
        assert max(first.values()) < 70


def test_lists_are_the_best_items_that_were_not_rated(tmp_path: Path) -> None:
    study = read_study(write_study(tmp_path, checks={"random": True}))
    maker = fit_systems(study, read_catalogue(study))
    rated = {"i3": 5.0, "i7": 1.0}
    lists = maker.make(rated, 0)
    codes = maker.catalogue.codes
    assert {len(one) for one in lists.values()} == {12}
    for name, system in maker.fitted.items():
        scores = score_new_user(system, [codes[one] for one in rated], list(rated.values())).astype(float)
        scores[[codes[one] for one in rated]] = -np.inf
        listed = [scores[codes[one]] for one in lists[name]]
        assert listed == sorted(listed, reverse=True)
        assert listed == sorted(scores, reverse=True)[:12]
        assert len(set(lists[name])) == 12
    assert not set(rated) & set(lists[RANDOM_LIST])
    assert maker.make(rated, 1)[RANDOM_LIST] != lists[RANDOM_LIST]
    assert maker.make(dict(reversed(rated.items())), 0) == lists


@pytest.mark.parametrize("left", [0, 1, 3, 11, 13])
def test_who_has_rated_nearly_everything_gets_what_is_left(left: int, tmp_path: Path) -> None:
    study = read_study(write_study(tmp_path))
    maker = fit_systems(study, read_catalogue(study))
    every = list(maker.catalogue.ids)
    lists = maker.make({item: 1.0 + at % 5 for at, item in enumerate(every[left:])}, 0)
    for listed in lists.values():
        assert set(listed) <= set(every[:left])
        assert len(set(listed)) == len(listed) == min(left, 12)


def test_lists_have_the_length_of_the_shortest(tmp_path: Path) -> None:
    write_study(tmp_path)
    rows = [("u1", f"i{j}", j) for j in range(9)]
    pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row").write_csv(tmp_path / "run.csv")
    settings = study_settings("rank", lists={"visible": 3}, ratings={"least": 0})
    settings["systems"] = {"ours": {"run": str(tmp_path / "run.csv")}, "popularity": {}}
    settings["data"] = {"path": str(tmp_path / "log.csv"), "items": str(tmp_path / "items.csv")}
    maker = fit_systems(read_study(settings), read_catalogue(read_study(settings)))
    assert maker.known_users == ["u1"]
    lists = maker.make({}, 0, "u1")
    seen = set(pl.read_csv(tmp_path / "log.csv").filter(pl.col("user") == "u1")["item"])
    assert lists["ours"] == [f"i{j}" for j in range(9) if f"i{j}" not in seen]
    assert len(lists["popularity"]) == len(lists["ours"])
    assert not seen & set(lists["popularity"])


def test_another_scale_is_refused(tmp_path: Path) -> None:
    study = read_study(write_study(tmp_path, ratings={"scale": [1, 2, 3]}))
    with pytest.raises(TruevalError, match="another scale") as refused:
        check_scale(study, read_catalogue(study))
    assert "[ratings] scale" in refused.value.where


def test_systems_that_cannot_are_refused_by_name(tmp_path: Path) -> None:
    pytest.importorskip("implicit", reason="needs implicit")
    study = read_study(write_study(tmp_path, systems={"mine": {"system": "bpr", "factors": 2}, "popularity": {}}))
    with pytest.raises(TruevalError, match="mine cannot recommend to people") as refused:
        fit_systems(study, read_catalogue(study))
    assert "[systems] mine" in refused.value.where


OWN = """
import numpy as np

class Own:
    def fit(self, train):
        self.size = len(train.items.values)
        return self
    def score(self, users):
        return np.zeros((len(users), self.size))
    def score_new(self, items, values):
        return {scores}
"""


@pytest.mark.parametrize(
    ("name", "scores", "message"),
    [
        ("too_few", "np.zeros(self.size - 1)", "does not score the items"),
        ("no_number", "np.full(self.size, np.nan)", "does not score the items"),
        ("some", "np.where(np.arange(self.size) < 20, np.arange(self.size), np.nan)", ""),
    ],
)
def test_systems_of_others_score_every_item(name: str, scores: str, message: str, tmp_path: Path) -> None:
    (tmp_path / f"own_{name}.py").write_text(OWN.format(scores=scores))
    study = read_study(write_study(tmp_path, systems={"mine": {"import": f"own_{name}:Own"}, "popularity": {}}))
    if message:
        with pytest.raises(TruevalError, match=message):
            fit_systems(study, read_catalogue(study))
        return
    maker = fit_systems(study, read_catalogue(study))
    listed = [maker.catalogue.codes[one] for one in maker.make({}, 0)["mine"]]
    assert listed == list(range(19, 7, -1))  # items without a score are after all others


def test_only_local_pictures_are_shown(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(b"x")
    (tmp_path / "pictures" / "a.svg").write_bytes(b"<svg/>")
    (tmp_path / "secret.png").write_bytes(b"x")
    path = write_study(tmp_path, data={"pictures": "pictures"})
    named = ["a.png", "https://example.org/a.png", "../secret.png", "a.svg", "none.png"]
    items = pl.read_csv(tmp_path / "items.csv").with_columns(
        pl.Series("picture", [named[i] if i < len(named) else None for i in range(60)])
    )
    items.write_csv(tmp_path / "items.csv")
    catalogue = read_catalogue(read_study(path))
    assert [item.title for item in catalogue.items if item.picture] == ["Amélie 0"]
    assert catalogue.notes == ("4 pictures are not shown: not a file of pictures",)


def test_items_without_titles_are_ids(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    pl.read_csv(tmp_path / "items.csv").drop("title").write_csv(tmp_path / "items.csv")
    catalogue = read_catalogue(read_study(path))
    assert catalogue.items[0].title == "i0"
    assert "no titles" in catalogue.notes[0]
