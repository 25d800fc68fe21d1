"""Whole studies without a script, in all forms: what is stored, what people see, and what they never see."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_studies import SYSTEMS
from study_sites import TITLES, make_site
from visitors import Visitor

from trueval.study.database import NotSaved
from trueval.study.export import export_tables
from trueval.study.plan import RANDOM_LIST
from trueval.study.site import Site

testclient = pytest.importorskip("starlette.testclient", reason="needs the extra study")

QUESTION = {"question": "What?", "answers": ["this", "that"], "right": 2}
Make = Callable[..., tuple[Site, Visitor]]


@pytest.fixture
def visit(tmp_path: Path) -> Make:
    """A study and somebody who visits it."""

    def make(form: str = "rank", **sections: Any) -> tuple[Site, Visitor]:
        from trueval.study.app import make_app

        site = make_site(tmp_path, form, **sections)
        return site, Visitor(testclient.TestClient(make_app(site), base_url="http://study"))

    return make


@pytest.mark.parametrize("form", ["rank", "pair", "rate"])
def test_a_whole_study_names_no_system(form: str, visit: Make) -> None:
    """Every byte that is served, headers and script too, is searched for systems, parameters and ids."""
    site, person = visit(
        form, comprehension=[QUESTION], checks={"same": True, "random": True}, thanks={"code": "CODE-1"},
        outside={"ids": ["PROLIFIC_PID"]},
    )  # fmt: skip
    person.begin("?PROLIFIC_PID=panel-17").send("/comprehension", q1="1")
    assert "second and last time" in person.page.text
    home = person.send("/comprehension", q1="2").rate(3).home
    person.get(f"{home}?q=AMELIE")
    assert "Amélie" in person.page.text
    person.get(f"{home}/find?q=boot")
    for name in ("study.css", "study.js", "icon.svg"):
        assert person.get(f"/static/{name}").status == 200
    person.get(home).send("/lists")
    if form == "rank":
        view = person.form("/answer")
        person.post(f"{home}/view", {**view.fields, "show": "B"})
        person.client.headers["x-study"] = "script"
        person.post(f"{home}/view", {**view.fields, "show": "C"})
        del person.client.headers["x-study"]
        person.get(home)
    form = person.form("/answer")
    person.post(form.action, {**form.fields, "scale-1": "99"})  # what is incomplete, too large, forged or not there
    person.post(form.action, {**form.fields, "comment": "x" * 300_000})
    person.post(form.action, {"form": "guess"})
    for address in (f"{home}/nothing", "/p/nobody", "/results", "/picture/1"):
        person.get(address)
    person.get(home).finish()
    assert "CODE-1" in person.page.text
    served = b"\n".join(person.seen).lower()
    names = [*SYSTEMS, *(choices["system"] for choices in SYSTEMS.values()), RANDOM_LIST]
    assert len(names) == 7
    for word in names:
        assert not re.search(rb"\b%b\b" % re.escape(word).encode(), served), word
    assert RANDOM_LIST.encode() not in served
    participant = export_tables(site.storage)["participants"]["participant"][0]
    assert participant.encode() not in served
    assert b"set-cookie" not in served
    assert b"http://" not in served.replace(b"http://study", b"").replace(b"http://www.w3.org/2000/svg", b"")


@pytest.mark.parametrize("form", ["rank", "pair", "rate"])
def test_answers_are_stored_as_they_were_given(form: str, visit: Make) -> None:
    site, person = visit(form, checks={"random": True})
    person.begin().rate(3).finish("All <b>fine</b>.\r\nReally.")
    found = export_tables(site.storage)
    assert found["participants"]["last_page"].to_list() == ["done"]
    assert found["comments"]["text"].to_list() == ["All <b>fine</b>.\nReally."]
    assert found["ratings"]["value"].to_list() == [4.0] * 3
    assert set(found["ratings"]["source"]) == {"browse"}
    assert found["shown"]["list_length"].unique().to_list() == [12]
    if form == "rank":
        assert (found["rankings"]["rank"] == found["rankings"]["position"]).all()
        assert set(found["rankings"]["system"]) == {*SYSTEMS, RANDOM_LIST}
    elif form == "pair":
        assert found["pairs"]["answer"].to_list() == ["left"] * 4
    else:
        assert found["scales"].filter(question="relevance")["value"].to_list() == [3] * 4
        assert found["marks"]["mark"].to_list() == ["know"] * 4


def test_rated_items_are_in_no_list(visit: Make) -> None:
    from trueval.study.answers import lists_of, ratings_of

    site, person = visit()
    person.begin().rate(3).send("/lists")
    one = export_tables(site.storage)["participants"]["participant"][0]
    rated = set(ratings_of(site.storage, one))
    lists = lists_of(site.storage, one)
    assert len(rated) == 3
    assert set(lists) == set(SYSTEMS)
    assert not any(rated & set(items) for items in lists.values())
    rows = [(one, name, place, item) for name in SYSTEMS for place, item in enumerate(lists[name], 1)]
    assert export_tables(site.storage)["lists"].rows() == rows


def test_markup_in_titles_is_text(visit: Make) -> None:
    _, person = visit()
    person.begin().get(f"{person.home}?q=<script>")
    assert "</script><script>alert(1)</script>" in person.page.text
    everything = b"".join(person.seen)
    assert b"<script>alert" not in everything
    assert b"<b>Bold" not in everything
    assert b"<i>comedy" not in everything
    assert TITLES[4] in person.get(f"{person.home}?q=7").page.text


def test_too_few_ratings_and_what_is_missing_is_said(visit: Make) -> None:
    _, person = visit("rank", rank={"blanks": "not allowed"})
    person.get("/").send("/start")
    assert person.status == 422
    assert "tick the box" in person.page.text
    person.send("/start", agree="yes").send("/lists")
    assert person.status == 422
    assert "at least 3" in person.page.text
    person.rate(3).send("/lists").send("/answer", **{"place-A": "1", "place-B": "2"})
    assert "every list a place" in person.page.text
    assert person.form("/answer").fields["place-B"] == "2"  # what was chosen is kept
    person.send("/answer", **{"place-C": "2"})
    assert "same place" in person.page.text
    person.send("/answer", **{"place-C": "3"})
    assert person.has("/comment")


def test_switching_lists_keeps_what_was_chosen(visit: Make) -> None:
    site, person = visit()
    person.begin().rate(3).send("/lists")
    form = person.form("/answer")
    person.post(f"{person.home}/view", {**form.fields, "place-A": "2", "show": "B"})
    assert person.form("/answer").fields["place-A"] == "2"
    assert "List B" in person.page.text
    person.get(person.home)
    assert person.form("/answer").fields["place-A"] == "2"
    assert export_tables(site.storage)["shown"]["switches"].to_list() == [0, 1, 0]


def test_a_participant_comes_back_to_where_they_were(visit: Make) -> None:
    site, person = visit("pair", outside={"ids": ["PID", "SESSION"]})
    person.begin("?PID=a&SESSION=b").rate(3).send("/lists").answer()
    home = person.home
    again = Visitor(person.client).begin("?PID=a&SESSION=b")
    assert again.home == home
    assert "Comparison 2 of 3" in again.page.text
    assert "Comparison 2 of 3" in Visitor(person.client).get(home).page.text
    assert Visitor(person.client).begin("?PID=a&SESSION=c").home != home
    assert Visitor(person.client).begin("?PID=a").home != home  # not all ids: somebody new
    assert len(export_tables(site.storage)["participants"]) == 3


def test_two_wrong_tries_end_it(visit: Make) -> None:
    site, person = visit(comprehension=[QUESTION])
    person.begin().send("/comprehension", q1="1").send("/comprehension", q1="1")
    assert "cannot go on" in person.page.text
    assert not person.page.forms
    assert export_tables(site.storage)["participants"]["last_page"].to_list() == ["excluded"]


def test_languages(visit: Make) -> None:
    words = {"de": {"start": "Beginnen", "title": "Listen", "language_name": "Deutsch"}, "he": {"start": "התחל"}}
    site, person = visit(study={"languages": ["en", "de", "he"]}, words=words)
    person.get("/?lang=de")
    assert "Listen" in person.page.text
    assert any(button for form in person.page.forms for button in form.buttons)
    assert b'lang="de"' in person.seen[-1]
    person.send("/start", agree="yes").rate(3)
    assert b'lang="de"' in person.seen[-1]
    assert export_tables(site.storage)["participants"]["language"].to_list() == ["de"]
    assert b'dir="rtl"' in person.get("/?lang=he").seen[-1]


@pytest.mark.parametrize("form", ["pair", "rate"])
def test_the_studys_own_texts_in_another_language(form: str, visit: Make) -> None:
    """Questions, answers, scales and reasons are translated by themselves; what is stored is as the study has it."""
    texts = {"What?": "Was?", "this": "dies", "that": "das", "more variety": "mehr Vielfalt", "badly": "schlecht"}
    texts |= {"How well does it fit?": "Wie gut passt es?", "well": "gut"}
    own = {"pair": ["What?", "this", "that", "more variety"], "rate": [one for one in texts if one != "more variety"]}
    words = {"de": {one: texts[one] for one in own[form]}}
    site, person = visit(form, study={"languages": ["en", "de"]}, words=words, comprehension=[QUESTION])
    person.get("/?lang=de").send("/start", agree="yes")
    assert {"Was?", "dies", "das"} <= set(person.page.text.split())
    person.send("/comprehension", q1="2").rate(3).send("/lists")
    shown = "mehr Vielfalt" if form == "pair" else "Wie gut passt es?"
    assert shown in person.page.text
    if form == "pair":
        person.send("/answer", answer="left", **{"reason-2": "yes"})
        assert export_tables(site.storage)["pairs"]["reasons"].to_list() == ["more variety"]
    else:
        assert person.page.text.count("schlecht") == 2  # at the end of the scale, and in the label of its first point
        assert "badly" not in person.page.text


def test_what_goes_wrong_is_said_in_the_language_of_the_participant(visit: Make) -> None:
    words = {
        "de": {
            "not_found": "Nicht da.",
            "too_large": "Zu lang.",
            "form": "Ungültig.",
            "not_saved": "Nicht gespeichert.",
        }
    }
    site, person = visit(study={"languages": ["en", "de"]}, words=words)
    person.get("/?lang=de").send("/start", agree="yes")
    assert "Nicht da." in person.get(f"{person.home}/nothing").page.text
    assert "Zu lang." in person.post(f"{person.home}/rating", {"form": "x" * 300_000}).page.text
    assert "Ungültig." in person.post(f"{person.home}/rating", {"form": "guess"}).page.text
    token = site.step_token(site.storage.find(person.home.rpartition("/")[2]))  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trueval.study.posting.store_rating", _refuse)
        person.post(f"{person.home}/rating", {"form": token, "rate": "1:5"})
    assert person.status == 503
    assert "Nicht gespeichert." in person.page.text
    assert "Nothing" not in person.get("/nothing?lang=de").page.text


def _refuse(*_: Any, **__: Any) -> bool:
    raise NotSaved("the database could not be used")


def test_results_need_the_secret_and_tell_no_preference(visit: Make) -> None:
    site, person = visit()
    secret = site.storage.results_secret()
    assert secret is not None
    person.begin().rate(3).finish()
    assert person.get("/results").has("/results")
    assert person.send("/results", secret="guess").status == 403
    assert "zz-popular" not in person.page.text
    person.send("/results", secret=secret)
    assert "1 of 30 planned" in person.page.text
    assert b'<tr><th scope="row">finished</th><td>1</td></tr>' in person.seen[-1]
    # the plan of one participant: each of three systems at one of three places, all of which have a column
    assert person.page.text.count("place ") == 3
    rows = re.findall(rb"<tr><th scope=\"row\">zz-\w+</th>((?:<td>\d</td>)+)</tr>", person.seen[-1])
    assert sorted(rows) == [
        b"<td>0</td><td>0</td><td>1</td>",
        b"<td>0</td><td>1</td><td>0</td>",
        b"<td>1</td><td>0</td><td>0</td>",
    ]
    assert "zz-popular" in person.page.text
    assert "rank" not in person.page.text.lower().split()


def test_without_ratings_there_is_only_a_button(visit: Make) -> None:
    _, person = visit(ratings={"least": 0})
    person.begin()
    assert "Ready?" in person.page.text
    person.finish()
    assert "Thank you" in person.page.text


def test_runs_are_for_invited_users(tmp_path: Path) -> None:
    import polars as pl

    from trueval.study.app import make_app
    from trueval.study.invitations import invite

    rows = [(f"u{u}", f"i{(u + j) % 60}", 20 - j) for u in range(3) for j in range(20)]
    pl.DataFrame(rows, schema=["user", "item", "score"], orient="row").write_csv(tmp_path / "run.csv")
    site = make_site(
        tmp_path, ratings={"least": 0}, systems={"ours": {"run": "run.csv"}, "zz-popular": {"system": "popularity"}},
        study={"languages": ["en", "de"]}, words={"de": {"agree_needed": "Bitte ankreuzen."}},
    )  # fmt: skip
    client = testclient.TestClient(make_app(site), base_url="http://study")
    assert "by invitation" in Visitor(client).get("/").page.text
    assert not Visitor(client).get("/").page.forms
    made = invite(site.storage, ["u1", "u2"], site.maker.known_users, address="http://study/")
    person = Visitor(client).get(made["address"][0])
    assert not len(export_tables(site.storage)["participants"])  # nobody has agreed yet
    person.get(person.address + next(link for link in person.page.links if "lang=de" in link)).send("/agree")
    assert "Bitte ankreuzen." in person.page.text
    person.send("/agree", agree="yes").finish()
    assert "Thank you" in person.page.text
    assert export_tables(site.storage)["participants"]["language"].to_list() == ["de"]
    log = pl.read_csv(tmp_path / "log.csv").filter(pl.col("user") == "u1")["item"].to_list()
    listed = [item for u, item, _ in rows if u == "u1" and item not in log][:12]
    from trueval.study.answers import lists_of

    one = export_tables(site.storage)["participants"]["participant"][0]
    assert lists_of(site.storage, one)["ours"] == listed
    from sqlalchemy import select

    from trueval.study import tables
    from trueval.study.database import reading

    with reading(site.storage.engine) as connection:  # the user is forgotten once the lists are made
        assert connection.execute(select(tables.participants.c.known_user)).scalars().all() == [None, "u2"]
