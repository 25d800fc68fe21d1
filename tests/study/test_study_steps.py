"""The steps of a participant: none can be skipped, and the address of each leads to where the participant is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from study_sites import make_site
from visitors import Visitor

from trueval.study.export import export_tables
from trueval.study.site import Site

testclient = pytest.importorskip("starlette.testclient", reason="needs the extra study")


def _visitor(site: Site) -> Visitor:
    from trueval.study.app import make_app

    return Visitor(testclient.TestClient(make_app(site), base_url="http://study"))


def _everything(site: Site) -> dict[str, list[Any]]:
    return {name: table.rows() for name, table in export_tables(site.storage).items()}


def test_addresses_of_forms_lead_back_to_the_participant(tmp_path: Path) -> None:
    """Where something was missing, the browser's bar shows the address of the form: it can be reloaded and kept."""
    site = make_site(tmp_path)
    person = _visitor(site).get("/").send("/start")
    assert person.status == 422
    assert person.get(person.address).has("/start")
    person.send("/start", agree="yes").send("/lists")
    assert person.status == 422
    assert person.address.endswith("/lists")
    assert person.get(person.address).has("/lists")
    person.rate(3).send("/lists").send("/answer")
    assert person.status == 422
    assert person.get(person.address).has("/answer")
    assert _visitor(site).get("/p/nobody/answer").status == 404


def test_no_step_can_be_skipped(tmp_path: Path) -> None:
    """With the right tokens of all forms: only the step where a participant is can be taken."""
    question = {"question": "What?", "answers": ["this", "that"], "right": 1}
    site = make_site(tmp_path, comprehension=[question])
    person = _visitor(site).begin()
    one = site.storage.find(person.home.rpartition("/")[2])
    assert one is not None
    tokens = {"view": ("task", "1"), "answer": ("task", "1")}
    forms = {"rating": {"rate": "1:5"}, "lists": {}, "view": {"show": "B"}, "answer": {"place-A": "1"}, "comment": {}}

    def send(*but: str) -> None:
        before = _everything(site)
        for step, fields in forms.items():
            if step not in but:
                token = site.form_token(one.id, *tokens.get(step, ()))
                person.post(f"{person.home}/{step}", {**fields, "form": token})
        assert _everything(site) == before

    send()
    person.get(person.home).send("/comprehension", q1="1")
    send("rating")
    person.get(person.home).rate(3).send("/lists")
    send("view", "answer")
    person.get(person.home).answer()
    send("comment")
    person.get(person.home).send("/comment")
    send()
    assert "Thank you" in person.get(person.home).page.text
