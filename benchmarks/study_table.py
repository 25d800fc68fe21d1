"""How quickly a user study is served: python benchmarks/study_table.py -o benchmarks/STUDY.md

Fold-in: the lists of one participant by five systems over 20,000 items, on one core. Load: 200 people at once, over
loopback, against `trueval study serve` in a process of its own; each goes through a whole study by plain forms, and
thinks between pages. A page is timed from the click to the last byte of the page that follows it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from study_pages import forms

SYSTEMS = {
    "allrank": "factors = 50, sweeps = 4", "itemknn": "", "puresvd": "factors = 50",
    "plsa": "factors = 30, iterations = 20", "popularity": "",
}  # fmt: skip
RATINGS = 10


def write_study(folder: Path, *, items: int, users: int, rows: int, seed: int) -> Path:
    """A study of five systems on a log drawn by popularity."""
    rng = np.random.default_rng(seed)
    chance = 1 / np.arange(5, items + 5) ** 0.8
    log = pl.DataFrame({
        "user": rng.integers(0, users, rows), "item": rng.choice(items, rows, p=chance / chance.sum()),
        "value": rng.integers(1, 6, rows).astype(float),
    }).unique(["user", "item"], maintain_order=True)  # fmt: skip
    log.write_csv(folder / "log.csv")
    words = [
        "silent",
        "golden",
        "harbour",
        "river",
        "machine",
        "letter",
        "orbit",
        "winter",
        "paper",
        "summer",
        "mirror",
        "isle",
    ]
    titles = [f"The {words[i % 12]} {words[i // 12 % 12]} of {words[i // 144 % 12]} {i}" for i in range(items)]
    pl.DataFrame(
        {"item": range(items), "title": titles, "year": 1950 + np.arange(items) % 75, "genres": "drama|war"}
    ).write_csv(folder / "items.csv")
    systems = "\n".join(f"{name} = {{ {choices} }}" for name, choices in SYSTEMS.items())
    path = folder / "study.toml"
    path.write_text(
        '[study]\ntitle = "Load"\nform = "rank"\nmost_open = 5000\n[data]\npath = "log.csv"\nitems = "items.csv"\n'
        f'[information]\ntext = "Load"\n[ratings]\nleast = {RATINGS}\n[lists]\nlength = 200\n'
        f'[rank]\nquestion = "Which?"\nblanks = "worse"\n[systems]\n{systems}\n'
    )
    return path


def measure_fold_in(study: Path, *, repeats: int) -> list[tuple[str, float, float]]:
    """Milliseconds that lists of a participant take on one core: what, median by the clock, and of the processor."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    threadpool_limits(1, user_api="blas")  # as the server has it
    from trueval.recommenders.new_users import score_new_user
    from trueval.study.catalogue import read_catalogue
    from trueval.study.definition import read_study
    from trueval.study.lists import fit_systems

    maker = fit_systems(read_study(study), read_catalogue(read_study(study)))
    rng = np.random.default_rng(1)
    profiles = [np.sort(rng.choice(len(maker.equals), 36, replace=False)) for _ in range(repeats)]
    times: dict[str, list[tuple[float, float]]] = defaultdict(list)

    def timed(name: str, work: Callable[[], object]) -> None:
        clock, processor = time.perf_counter(), time.process_time()
        work()
        times[name].append((time.perf_counter() - clock, time.process_time() - processor))

    for number, items in enumerate(profiles):
        ratings = dict.fromkeys(items.tolist(), 4.0)
        timed("lists of all five", lambda: maker.make_by_code(ratings, number))  # noqa: B023
        for name, system in maker.fitted.items():
            timed(f"scores of {name}", lambda: score_new_user(system, items, np.full(36, 4.0)))  # noqa: B023
    return [(name, *(1000 * float(np.median(one)) for one in zip(*taken))) for name, taken in times.items()]


@dataclass
class Load:
    """People who take part at the same time, and how long they waited."""

    think: float
    waited: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)
    finished: int = 0

    async def person(self, client: httpx.AsyncClient, number: int) -> None:
        """One participant from the first page to the last."""
        rng = random.Random(number)
        await asyncio.sleep(rng.uniform(0, 2 * self.think))
        page = await self.ask(client, "information", "/")
        page = await self.click(client, rng, "agree", page, "/start", agree="yes")
        home = urlsplit(str(page.url)).path
        rated: set[str] = set()
        while len(rated) < RATINGS:  # each another item, so that the lists come at the first asking
            offered = next(one for one in forms(page.text) if one.fields.get("source") == "browse")
            item, _, value = rng.choice(offered.buttons).rpartition(":")
            if item in rated or not value:
                continue
            page = await self.click(client, rng, "rating", page, "/rating", at=offered, rate=f"{item}:{value}")
            rated.add(item)
            if rng.random() < 0.3:
                await asyncio.sleep(rng.expovariate(1 / self.think))
                page = await self.ask(
                    client, "search", f"{home}?q={rng.choice(['river', 'gold', 'the m', 'orbit of'])}"
                )
        page = await self.click(client, rng, "lists (fold-in)", page, "/lists")
        for label in "BCDE":
            page = await self.click(client, rng, "switch", page, "/answer", to=f"{home}/view", show=label)
        page = await self.click(client, rng, "answer", page, "/answer", **{"place-A": "1", "place-B": "2"})
        page = await self.click(client, rng, "comment", page, "/comment", comment="fine")
        self.finished += "have been saved" in page.text

    async def click(
        self, client: httpx.AsyncClient, rng: random.Random, kind: str, page: httpx.Response, ending: str, *,
        at: object = None, to: str = "", **fields: str,
    ) -> httpx.Response:  # fmt: skip
        """Think, then send a form."""
        await asyncio.sleep(rng.expovariate(1 / self.think))
        form = at or next(one for one in forms(page.text) if one.action.endswith(ending))
        return await self.ask(client, kind, to or form.action, {**form.fields, **fields})

    async def ask(
        self, client: httpx.AsyncClient, kind: str, address: str, sent: dict[str, str] | None = None
    ) -> httpx.Response:
        """Ask for a page, and take the time until it is there."""
        begin = time.perf_counter()
        answer = await (client.get(address) if sent is None else client.post(address, data=sent))
        self.waited[kind].append(time.perf_counter() - begin)
        if answer.status_code != 200 and answer.status_code != 422:
            self.errors.append(f"{kind}: {answer.status_code}")
        return answer


async def measure_load(address: str, *, people: int, think: float, limit: float) -> Load:
    """All of them at once; whoever is not through after the limit counts as an error."""
    load = Load(think)
    limits = httpx.Limits(max_connections=people, max_keepalive_connections=people)
    async with httpx.AsyncClient(base_url=address, follow_redirects=True, timeout=60, limits=limits) as client:
        tasks = [asyncio.create_task(load.person(client, number)) for number in range(people)]
        done, late = await asyncio.wait(tasks, timeout=limit)
        for one in late:
            one.cancel()
        load.errors += ["not through in time"] * len(late)
        load.errors += [repr(one.exception()) for one in done if one.exception() is not None]
    return load


def serve(study: Path) -> tuple[subprocess.Popen[bytes], str]:
    """The server in a process of its own, once it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    running = subprocess.Popen(
        [sys.executable, "-m", "trueval", "study", "serve", str(study), "--port", str(port), "--quiet"],
        stdout=subprocess.DEVNULL,
    )
    while running.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    return running, f"http://127.0.0.1:{port}"


def table(
    load: Load, fold_in: list[tuple[str, float, float]], options: argparse.Namespace, seconds: float, cpu: float
) -> str:
    """The page of results."""
    every = [one for kind in load.waited.values() for one in kind]
    rows = [("all pages", every), *sorted(load.waited.items())]
    lines = [
        "# How quickly a user study is served", "",
        f"Made by `python benchmarks/study_table.py`: Python {platform.python_version()}, {platform.machine()}, "
        f"{os.cpu_count()} cores shared with the people of the test, load average {os.getloadavg()[1]:.0f} of this and "
        f"other work; {options.items:,} items, {len(SYSTEMS)} systems ({', '.join(SYSTEMS)}), SQLite with every commit "
        "on the disk, one process, plain forms over loopback.", "",
        f"{options.people} people at once, who think {options.think:g} s on average between pages: {len(every):,} "
        f"pages in {seconds:.0f} s, {load.finished} finished, {len(load.errors)} errors. The server used {cpu:.0f} s "
        f"of processor time, {1000 * cpu / max(len(every), 1):.0f} ms for each page.", "",
        "| page | number | median, ms | 95 %, ms | 99 %, ms | within 300 ms |", "|---|---|---|---|---|---|",
        *(
            f"| {name} | {len(one):,} | {1000 * np.median(one):.0f} | {1000 * np.quantile(one, 0.95):.0f} | "
            f"{1000 * np.quantile(one, 0.99):.0f} | {np.mean(np.array(one) <= 0.3):.1%} |"
            for name, one in rows
        ), "",
        "Lists of one participant with 36 ratings, on one core, medians:", "",
        "| what | ms by the clock | ms of the processor |", "|---|---|---|",
        *(f"| {name} | {clock:.1f} | {processor:.1f} |" for name, clock, processor in fold_in), "",
    ]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    """Measure both and print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (
        ("items", 20_000),
        ("users", 6000),
        ("rows", 400_000),
        ("people", 200),
        ("repeats", 50),
        ("limit", 900),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--think", type=float, default=5.0)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        study = write_study(Path(place), items=options.items, users=options.users, rows=options.rows, seed=1)
        running, address = serve(study)
        try:
            begin, used = time.perf_counter(), _processor_time(running.pid)
            load = asyncio.run(measure_load(address, people=options.people, think=options.think, limit=options.limit))
            seconds, cpu = time.perf_counter() - begin, _processor_time(running.pid) - used
        finally:
            running.send_signal(signal.SIGINT)
            running.wait(60)
        made = table(load, measure_fold_in(study, repeats=options.repeats), options, seconds, cpu)
    if options.output:
        options.output.write_text(made)
    print(made)
    if load.errors:
        print(*sorted(set(load.errors))[:10], sep="\n", file=sys.stderr)


def _processor_time(process: int) -> float:
    """Seconds of processor time that a process has used."""
    parts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
