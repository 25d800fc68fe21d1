"""What goes wrong around a study: a database locked, full or away; forms that are forged, repeated, large or slow."""

from __future__ import annotations

import dataclasses
import random
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from study_sites import make_site, served, write_study
from visitors import Visitor

from trueval.errors import TruevalError
from trueval.study import slow_connections
from trueval.study.app import make_app
from trueval.study.database import connect
from trueval.study.definition import read_study
from trueval.study.export import export_tables
from trueval.study.site import Site
from trueval.study.steps import MOST_COMMENT
from trueval.study.storage import Storage

testclient = pytest.importorskip("starlette.testclient", reason="needs the extra study")


def _visitor(site: Site) -> Visitor:
    return Visitor(testclient.TestClient(make_app(site), base_url="http://study"))


def _impatient(site: Site) -> Site:
    """The same site, with a database that is not waited for long."""
    return dataclasses.replace(site, storage=Storage.open(site.study, busy=0.05))


def _everything(site: Site) -> dict[str, list[Any]]:
    return {name: table.rows() for name, table in export_tables(site.storage).items()}


# ---- the database --------------------------------------------------------------------------------------------------


@contextmanager
def _locked(site: Site) -> Iterator[None]:
    with closing(sqlite3.connect(site.study.folder / "study.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_a_locked_database_keeps_what_was_typed(tmp_path: Path) -> None:
    site = _impatient(make_site(tmp_path, "pair"))
    person = _visitor(site).begin().rate(3).send("/lists")
    with _locked(site):
        person.send("/answer", answer="right", **{"reason-2": "yes"})
        assert person.status == 503
        assert "has not been saved yet" in person.page.text
        assert _visitor(site).get(person.home).status == 200  # pages can still be read
        assert person.send("/answer").status == 503  # and it can be tried again as often as one likes
    person.send("/answer")
    assert person.status == 200
    pairs = export_tables(site.storage)["pairs"]
    assert pairs.select("task", "answer", "reasons").rows() == [(1, "right", "more variety")]


@pytest.mark.parametrize("step", ["/start", "/comprehension", "/rating", "/lists", "/answer"])
def test_every_form_survives_a_locked_database(step: str, tmp_path: Path) -> None:
    question = {"question": "What?", "answers": ["this", "that"], "right": 1}
    site = _impatient(make_site(tmp_path, "rank", comprehension=[question]))
    person = _visitor(site).get("/")
    sends: dict[str, Callable[[], object]] = {
        "/start": lambda: person.send("/start", agree="yes"),
        "/comprehension": lambda: person.send("/comprehension", q1="1"),
        "/rating": lambda: person.rate(3),
        "/lists": lambda: person.send("/lists"),
        "/answer": lambda: person.send("/answer", **{"place-A": "1"}),
    }
    for one, send in sends.items():
        if one == step:
            with _locked(site):
                before = _everything(site)
                send() if one != "/rating" else person.rate(1)
                assert person.status == 503
                assert _everything(site) == before
            person.send(one)  # the page's own button
            assert person.status == 200
            if one != "/rating":
                continue
        send()
    assert person.has("/comment")


def test_a_full_disk_keeps_what_was_typed(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    person = _visitor(site).begin().rate(3).send("/lists").answer()
    pages = sqlite3.connect(tmp_path / "study.sqlite").execute("PRAGMA page_count").fetchone()[0]
    full = Storage.open(site.study)
    event.listen(full.engine, "connect", lambda one, record: one.execute(f"PRAGMA max_page_count={pages}"))
    full.engine.dispose()
    sufferer = _visitor(dataclasses.replace(site, storage=full)).get(person.home)
    text = "A long story. " * 350
    sufferer.send("/comment", comment=text)
    assert sufferer.status == 503
    assert sufferer.form("/comment").fields["comment"] == text
    assert not export_tables(site.storage)["comments"].height
    person.post(f"{person.home}/comment", sufferer.form("/comment").fields)
    assert export_tables(site.storage)["comments"]["text"].to_list() == [text]


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """On a small disk of its own; needs the right to mount one."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    try:
        site = make_site(place, url=f"sqlite:///{place / 'study.sqlite'}")
        person = _visitor(site).begin().rate(3).send("/lists").answer()
        with closing(sqlite3.connect(place / "study.sqlite")) as other:  # the log begins anew, and needs space
            assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        filler = place / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:  # until there is no space left
                file.write(b"x" * 512)
        text = "A long story. " * 350
        person.send("/comment", comment=text)
        assert person.status == 503
        kept = person.form("/comment").fields["comment"]
        filler.unlink()
        person.send("/comment")
        assert "Thank you" in person.page.text
        assert export_tables(site.storage)["comments"]["text"].to_list() == [text] == [kept]
        site.storage.engine.dispose()
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_database_that_is_away(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    away = dataclasses.replace(site, storage=Storage(site.study, connect("postgresql://nobody@127.0.0.1:1/none")))
    person = _visitor(away)
    assert person.get("/").status == 200
    assert person.send("/start", agree="yes").status == 503
    assert person.form("/start").fields["agree"] == "yes"
    assert person.get("/p/somebody").status == 503


def test_a_database_that_is_refused_is_refused_before_systems_are_fitted(tmp_path: Path) -> None:
    Storage.open(read_study(write_study(tmp_path))).enrol()
    fitted: list[str] = []
    with pytest.raises(TruevalError, match="changed after people had taken part"):
        Site.open(read_study(write_study(tmp_path, study={"seed": 8})), told=fitted.append)
    assert not fitted


# ---- forms ---------------------------------------------------------------------------------------------------------


def test_forged_forms_and_those_of_others_change_nothing(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    first, second = (_visitor(site).begin().rate(3) for _ in range(2))
    before = _everything(site)
    token = first.form("/lists").fields["form"]
    for fields in ({}, {"form": ""}, {"form": "guess"}, {"form": token}, {"form": second.home.rpartition("/")[2]}):
        for step in ("agree", "rating", "lists", "view", "answer", "comment"):
            answered = _visitor(site).post(
                f"{second.home}/{step}", {"rate": "1:5", "comment": "x", "show": "B", **fields}
            )
            assert answered.status == 403, (step, fields)
    assert _everything(site) == before
    assert _visitor(site).post("/start", {"agree": "yes", "nonce": "n", "made": "1", "form": "guess"}).status == 403
    assert len(export_tables(site.storage)["participants"]) == 2


def test_repeated_forms_change_nothing(tmp_path: Path) -> None:
    site = make_site(tmp_path, "pair")
    person = _visitor(site).begin().rate(3)
    rating, lists = person.form("/rating"), person.form("/lists")
    person.send("/lists")
    first = person.form("/answer")
    person.post(first.action, {**first.fields, "answer": "left"})
    before = _everything(site)
    for form, fields in ((first, {"answer": "right"}), (rating, {"rate": "1:5"}), (lists, {})):
        person.post(form.action, {**form.fields, **fields})
        assert person.status == 200
        assert "Comparison 2 of 3" in person.page.text
    assert _everything(site) == before
    person.finish()
    done = _everything(site)
    person.post(first.action, {**first.fields, "answer": "right"})
    person.post(f"{person.home}/comment", {**rating.fields, "comment": "again"})
    assert "Thank you" in person.page.text
    assert _everything(site) == done


def test_the_first_form_sent_twice_is_one_participant(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    person = _visitor(site).get("/")
    form = person.form("/start")
    homes = {person.post(form.action, {**form.fields, "agree": "yes"}).home for _ in range(3)}
    assert len(homes) == 1
    assert len(export_tables(site.storage)["participants"]) == 1


def test_reading_pages_changes_nothing(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    person = _visitor(site).begin().rate(3).send("/lists")
    before = _everything(site)
    for address in ("", "?list=B", "?list=Z", "?q=a&page=3", "/find?q=a", "/answer", "/view", "/lists", "/comment"):
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
            person.client.request(method, f"{person.home}{address}")
    assert _everything(site) == before
    assert person.get(f"{person.home}/nothing").status == 404
    assert _visitor(site).get("/p/" + "A" * 43).status == 404
    assert _visitor(site).get("/p/..%2f..%2fetc%2fpasswd").status == 404
    assert _visitor(site).get("/static/..%2fapp.py").status == 404
    assert _visitor(site).get("/picture/1").status == 404


def test_large_answers(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    person = _visitor(site).begin().rate(3).send("/lists").answer()
    form = person.form("/comment")
    person.post(form.action, {**form.fields, "comment": "x" * 1_000_000})
    assert person.status == 413
    assert "too long" in person.page.text
    person.get(form.action.removesuffix("/comment"))
    person.send("/comment", comment="é" * (MOST_COMMENT + 1))
    assert person.status == 422
    assert person.form("/comment").fields["comment"] == "é" * (MOST_COMMENT + 1)
    text = "\n<é>\u2028🎬 \x00" + "z" * (MOST_COMMENT - 10)
    person.send("/comment", comment=text)
    assert "Thank you" in person.page.text
    assert export_tables(site.storage)["comments"]["text"].to_list() == [text.replace("\x00", "")]


def test_any_fields_at_all(tmp_path: Path) -> None:
    """Forms with the right token and anything else in them: no failure, and nothing that is not an answer."""
    rng = random.Random(4)
    words = ["", "0", "-1", "99", "1:9", "1:", "x:5", "9999999999:5", "٣", "<b>", "\x00", "left", "NaN", "B", "1" * 400]
    for form in ("rank", "pair", "rate"):
        (tmp_path / form).mkdir()
        site = make_site(tmp_path / form, form)
        person = _visitor(site).begin()
        for stage in range(2):
            for _ in range(60):
                here = rng.choice([one for one in person.page.forms if "form" in one.fields] or [None])
                if here is None:
                    break
                fields = {
                    name: rng.choice(words) for name in [*here.fields, "rate", "show", "answer", "place-A", "scale-1"]
                }
                answered = person.client.post(here.action, data={**fields, "form": here.fields.get("form", "")})
                assert answered.status_code in (200, 303, 403, 422), (here.action, fields)
            person.get(person.home)
            if not stage and person.has("/lists"):
                person.rate(3).send("/lists")
        found = export_tables(site.storage)
        assert found["ratings"]["value"].is_in([1.0, 2.0, 3.0, 4.0, 5.0]).all()
        assert found["rankings"]["rank"].drop_nulls().is_between(1, 3).all()
        assert found["pairs"]["answer"].is_in(["left", "right", "none"]).all()


def test_raw_bytes(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    person = _visitor(site).begin()
    for body in (b"\xff\xfe\x00", b"a=1&" * 5000, b"%zz=%", b'{"form": 1}', b"form"):
        answered = person.client.post(f"{person.home}/rating", content=body)
        assert answered.status_code == 403


# ---- connections ---------------------------------------------------------------------------------------------------


def test_slow_clients_are_closed_and_hold_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    httpx = pytest.importorskip("httpx")
    monkeypatch.setattr(slow_connections, "HEADER_SECONDS", 1.0)
    site = make_site(tmp_path)
    with served(site, seconds=1.0) as address:
        host, port = address.removeprefix("http://").split(":")
        half = [
            b"GET / HTTP/1.1\r\nHost: study\r\nX-Slow: ",
            b"POST /start HTTP/1.1\r\nHost: study\r\nContent-Length: 1000\r\n\r\nagree",
            b"",
        ]
        slow = [socket.create_connection((host, int(port))) for _ in range(60)]
        try:
            for number, one in enumerate(slow):
                one.sendall(half[number % 3])
            with httpx.Client(base_url=address, timeout=60) as client:
                person = Visitor(client).begin().rate(3).finish()
            assert "Thank you" in person.page.text
            for number, one in enumerate(slow):
                one.settimeout(60)
                said = b""
                while part := one.recv(65536):  # ends when the server closes the connection
                    said += part
                assert said.startswith(b"HTTP/1.1 408") if number % 3 == 1 else not said
        finally:
            for one in slow:
                one.close()


def test_headers_of_every_kind_of_answer(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    client = testclient.TestClient(make_app(site), base_url="http://study")
    for address in ("/", "/nothing", "/static/study.js", "/results", "/p/none"):
        headers = client.get(address).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers
        assert "server" not in headers
        assert address.startswith("/static") or headers["cache-control"] == "no-store"
