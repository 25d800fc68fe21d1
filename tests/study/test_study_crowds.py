"""Many enrolments from one client: who else can still take part, and with which lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from study_sites import Process, free_port, make_site, write_study
from visitors import Visitor

from trueval.study.address_limit import WITHIN, AddressLimit, TooManyFromAddress, networks, visitor_address
from trueval.study.app import make_app
from trueval.study.export import export_tables
from trueval.study.site import Site

testclient = pytest.importorskip("starlette.testclient", reason="needs the extra study")
Run = Callable[..., Any]


def _client(site: Site, address: str = "203.0.113.9", proxies: tuple[str, ...] = ()) -> Any:
    app = make_app(site, proxies=networks(proxies))
    return testclient.TestClient(app, base_url="http://study", client=(address, 5000), follow_redirects=False)


def _enrol(client: Any, **headers: str) -> int:
    """Agree to take part, with a form of one's own."""
    form = Visitor(client).get("/").form("/start")
    return int(client.post(form.action, data={**form.fields, "agree": "yes"}, headers=headers).status_code)


def test_a_crowd_that_answers_nothing_takes_no_place_and_no_number(tmp_path: Path) -> None:
    site = make_site(tmp_path, "rank", study={"most_open": 5, "per_address": 0})
    client = _client(site)
    assert Counter(_enrol(client) for _ in range(60)) == {303: 60}
    people = [Visitor(_client(site, f"198.51.100.{n}")).begin().rate(3).finish("") for n in range(6)]
    assert all("Thank you" in one.page.text for one in people)
    shown = export_tables(site.storage)["shown"]
    counts = Counter(shown.select("system", "position").iter_rows())
    assert set(counts.values()) == {2}  # three systems at three places, in a whole block of six people
    assert len(counts) == 9


def test_one_address_can_begin_so_often(tmp_path: Path) -> None:
    site = make_site(tmp_path, study={"per_address": 3})
    client = _client(site)
    assert [_enrol(client) for _ in range(5)] == [303, 303, 303, 429, 429]
    assert _enrol(_client(site, "203.0.113.10")) == 303
    assert len(export_tables(site.storage)["participants"]) == 4
    assert _enrol(client, **{"x-forwarded-for": "192.0.2.7"}) == 429  # which anybody can write


def test_a_form_sent_again_is_not_counted(tmp_path: Path) -> None:
    client = _client(make_site(tmp_path, study={"per_address": 1}))
    form = Visitor(client).get("/").form("/start")
    fields = {**form.fields, "agree": "yes"}
    homes = [client.post(form.action, data=fields).headers["location"] for _ in range(3)]
    assert len(set(homes)) == 1
    assert "/p/" in homes[0]


def test_behind_a_known_proxy_people_are_told_apart(tmp_path: Path) -> None:
    client = _client(make_site(tmp_path, study={"per_address": 1}), "127.0.0.1", ("127.0.0.1",))
    answers = [_enrol(client, **{"x-forwarded-for": f"6.6.6.{n}, 192.0.2.{n % 2}"}) for n in range(4)]
    assert answers == [303, 303, 429, 429]  # what stands further left was written by anybody
    assert _enrol(client, **{"x-forwarded-for": "no address"}) == 303  # then it is the proxy's
    assert _enrol(client, **{"x-forwarded-for": "neither"}) == 429


def test_the_address_of_a_visitor() -> None:
    trusted = networks(["127.0.0.1", "10.0.0.0/8", "::1"])
    cases = [
        ("198.51.100.1", ["192.0.2.1"], "198.51.100.1"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["192.0.2.1"], "192.0.2.1"),
        ("127.0.0.1", ["192.0.2.1, 192.0.2.2", "10.3.3.3"], "192.0.2.2"),
        ("::ffff:127.0.0.1", ["192.0.2.1"], "192.0.2.1"),
        ("::1", ["2001:db8:1:2:3:4:5:6"], "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", [], "2001:db8:1:2::/64"),
        ("testclient", ["192.0.2.1"], "testclient"),
        ("", [""], ""),
    ]
    for peer, forwarded, address in cases:
        assert visitor_address(peer, forwarded, trusted) == address


def test_an_hour_later_others_can_begin() -> None:
    limit = AddressLimit(2)
    limit.count("a", now=0.0)
    limit.count("a", now=10.0)
    for moment in (10.0, WITHIN - 1):
        with pytest.raises(TooManyFromAddress):
            limit.count("a", now=moment)
    limit.count("a", now=WITHIN)
    with pytest.raises(TooManyFromAddress):
        limit.count("a", now=WITHIN + 9)
    limit.count("a", now=WITHIN + 10)


def test_addresses_of_long_ago_are_forgotten() -> None:
    limit = AddressLimit(1)
    for number in range(10_001):
        limit.count(f"first {number}", now=0.0)
    limit.count("last", now=WITHIN)
    assert set(limit._begun) == {"last"}


def test_whoever_answers_while_all_places_are_taken_may_come_later(tmp_path: Path) -> None:
    site = make_site(tmp_path, study={"most_open": 1})
    first, second = (Visitor(_client(site)).begin() for _ in range(2))
    first.rate(3)
    offered = next(form for form in second.page.forms if form.fields.get("source") == "browse")
    fields = {**offered.fields, "rate": offered.buttons[0]["value"]}
    refused = second.client.post(offered.action, data=fields)
    assert refused.status_code == 503
    assert "come back a little later" in refused.text
    assert second.home in refused.text  # the way back


def test_a_redirect_does_not_repeat_the_host(tmp_path: Path) -> None:
    client = _client(make_site(tmp_path))
    for path in ("/", "/start", "/start/", "/results/", "/p/x", "/p/x/", "//evil.example/", "/static/study.css/"):
        for method in ("GET", "POST", "HEAD"):
            answer = client.request(method, "http://study" + path, headers={"host": "evil.example"})
            assert "evil.example" not in str(answer.headers), path
            assert "evil.example" not in answer.text.replace("//evil.example/", ""), path


def test_a_proxy_that_is_no_address_is_refused(trueval: Run, tmp_path: Path) -> None:
    study = write_study(tmp_path)
    for wrong in ("localhost", "", "127.0.0.1:80", "10.0.0.0/99"):
        refused = trueval("study", "serve", study, "--port", free_port(), "--proxy", wrong)
        assert refused.code == 2
        assert "--proxy" in refused.err
    assert not (tmp_path / "study.sqlite").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_the_limit_of_a_server_and_its_proxies(workers: int, tmp_path: Path) -> None:
    httpx = pytest.importorskip("httpx")
    study = write_study(tmp_path, study={"per_address": 1})
    server = Process(study, free_port(), "--workers", str(workers), "--proxy", "127.0.0.0/8")
    try:
        with httpx.Client(base_url=server.address, timeout=600) as client:
            seen = [_enrol(client, **{"x-forwarded-for": f"192.0.2.{n}"}) for n in range(3)]
            same = [_enrol(client, **{"x-forwarded-for": "192.0.2.1"}) for _ in range(workers)]
    finally:
        server.stop()
    assert seen == [303, 303, 303]
    assert 429 in same  # each worker counts for itself
