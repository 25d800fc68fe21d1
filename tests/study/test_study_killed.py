"""The server is killed at random moments while people answer: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from study_sites import LIMIT, Process, free_port, write_study
from visitors import Visitor

from trueval.study.definition import read_study
from trueval.study.export import export_tables

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn", reason="needs the extra study")


class Persistent(Visitor):
    """Somebody who tries again until the server is back, and remembers what was acknowledged."""

    def __init__(self, client: Any, stop: threading.Event, rng: random.Random, served: Counter) -> None:
        super().__init__(client)
        self.stop, self.rng, self.served = stop, rng, served
        self.ratings: dict[str, dict[str, float]] = {}  # by home: codes and values that were acknowledged
        self.answers: dict[str, dict[int, str]] = {}  # by home: answers to tasks that were acknowledged
        self.unsure: dict[str, dict[int, set[str]]] = {}  # and those whose acknowledgement did not arrive
        self.finished: list[str] = []

    def _ask(self, ask: Any) -> Any:
        end = time.monotonic() + LIMIT
        while True:
            try:
                answer = ask()
                self.served["pages"] += 1
                return answer
            except httpx.TransportError:
                assert time.monotonic() < end, "the server does not come back"
                time.sleep(0.02)

    def acknowledged(self, address: str, fields: dict[str, str]) -> bool:
        """Send a form once; whether it was acknowledged. Where the connection broke, nobody knows."""
        try:
            return self.client.post(address, data=fields).status_code == 303
        except httpx.TransportError:
            return False

    def take_part(self) -> None:
        """One study after the other until told to stop; the last one is finished."""
        while not self.stop.is_set():
            self._ask(self.begin)
            home = self.home
            self.ratings[home], self.answers[home], self.unsure[home] = {}, {}, defaultdict(set)
            while not self.has("/answer"):
                self._ask(lambda: self.get(home))  # noqa: B023
                if not self.has("/lists"):
                    break
                offered = next(form for form in self.page.forms if form.fields.get("source") == "browse")
                for code in list(dict.fromkeys(one["value"].split(":")[0] for one in offered.buttons))[:3]:
                    value = self.rng.randint(1, 5)
                    if self.acknowledged(offered.action, {**offered.fields, "rate": f"{code}:{value}"}):
                        self.ratings[home][code] = value
                    else:
                        self.ratings[home].pop(code, None)
                done = self.form("/lists")
                self.acknowledged(done.action, done.fields)
            self._ask(lambda: self.get(home))  # noqa: B023
            while self.has("/answer"):
                side, form = self.rng.choice(["left", "right", "none"]), self.form("/answer")
                task = int(re.findall(r"Comparison (\d) of 3", self.page.text)[0])
                if self.acknowledged(form.action, {**form.fields, "answer": side}):
                    assert task not in self.answers[home], "an acknowledged answer is asked for again"
                    self.answers[home][task] = side
                else:
                    self.unsure[home][task].add(side)
                self._ask(lambda: self.get(home))  # noqa: B023
            while self.has("/comment"):
                form = self.form("/comment")
                self.acknowledged(form.action, {**form.fields, "comment": f"from {home}"})
                self._ask(lambda: self.get(home))  # noqa: B023
            self.finished.append(home)


def _run(folder: Path, *, kills: int, people: int, seed: int, url: str | None = None) -> None:
    study, port, rng = write_study(folder, "pair"), free_port(), random.Random(seed)
    more = ["--database", url] if url else []
    server, stop = Process(study, port, *more), threading.Event()
    clients = [httpx.Client(base_url=server.address, timeout=LIMIT) for _ in range(people)]
    served: Counter = Counter()
    visitors = [Persistent(one, stop, random.Random(seed + number), served) for number, one in enumerate(clients)]
    failures: list[BaseException] = []

    def visit(one: Persistent) -> None:
        try:
            one.take_part()
        except BaseException as problem:
            failures.append(problem)

    threads = [threading.Thread(target=visit, args=(one,), daemon=True) for one in visitors]
    for thread in threads:
        thread.start()
    try:
        for _ in range(kills):
            before, pages = served["pages"], rng.randint(1, 10 * people)
            while served["pages"] < before + pages and not failures:  # every life of the server gets somewhere
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.02))  # the moment is chance within a request, too
            server.kill()
            server = Process(study, port, *more)
    finally:
        stop.set()
        for thread in threads:
            thread.join(LIMIT)
        for client in clients:
            client.close()
        server.stop()
    assert not failures
    _compare(study, visitors, url)


def _compare(study: Path, visitors: list[Persistent], url: str | None) -> None:
    found = export_tables(read_study(study), url)
    people = {row["text"].removeprefix("from "): row["participant"] for row in found["comments"].iter_rows(named=True)}
    assert len(people) == len(found["comments"])
    homes = [home for one in visitors for home in one.finished]
    assert sorted(homes) == sorted(people)
    assert len(homes) >= len(visitors)
    assert found["pairs"].select("participant", "task").is_duplicated().sum() == 0
    assert found["ratings"].select("participant", "item").is_duplicated().sum() == 0
    ids = sorted(f"i{number}" for number in range(60))  # codes follow the order of ids
    for one in visitors:
        for home in one.finished:
            pairs = dict(found["pairs"].filter(participant=people[home]).select("task", "answer").rows())
            ratings = dict(found["ratings"].filter(participant=people[home]).select("item", "value").rows())
            for code, value in one.ratings[home].items():
                assert ratings[ids[int(code)]] == value
            assert sorted(pairs) == [1, 2, 3]
            assert one.answers[home].items() <= pairs.items()
            for task in pairs.keys() - one.answers[home].keys():  # stored, though nobody could be told
                assert pairs[task] in one.unsure[home][task]


def test_killed_twice(tmp_path: Path) -> None:
    _run(tmp_path, kills=2, people=3, seed=1)


@pytest.mark.slow
def test_killed_thirty_times(tmp_path: Path) -> None:
    _run(tmp_path, kills=30, people=8, seed=2)


@pytest.mark.slow
def test_killed_with_postgresql(tmp_path: Path, postgres: Any) -> None:
    _run(tmp_path, kills=8, people=8, seed=3, url=postgres())
