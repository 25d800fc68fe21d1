"""Studies on a small world that are served: in the process of the test, in a thread, or in a process of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
from small_studies import settings

from trueval.study.definition import read_study
from trueval.study.site import Site

TITLES = ("Amélie", "Das Boot", "<b>Bold</b> & \"quoted\" 'title'", "</script><script>alert(1)</script>", "{{ 7 * 7 }}")
LIMIT = 600  # seconds after which something that hangs is given up


def write_data(folder: Path, *, items: int = 60, users: int = 40) -> None:
    """A log with values and a table of items whose titles are full of markup."""
    rows = [(f"u{u}", f"i{(u * 7 + j * j) % items}", float(1 + (u + j) % 5)) for u in range(users) for j in range(12)]
    log = pl.DataFrame(rows, schema=["user", "item", "value"], orient="row").unique(
        ["user", "item"], maintain_order=True
    )
    log.write_csv(folder / "log.csv")
    pl.DataFrame({
        "item": [f"i{i}" for i in range(items)],
        "title": [f"{TITLES[i % len(TITLES)]} {i}" for i in range(items)],
        "year": [1950 + i for i in range(items)],
        "genres": ["drama|<i>comedy</i>" if i % 2 else "war" for i in range(items)],
    }).write_csv(folder / "items.csv")  # fmt: skip


def study_settings(form: str, **sections: Any) -> dict[str, Any]:
    """A study on the small world."""
    small = {
        "data": {"path": "log.csv", "items": "items.csv"},
        "ratings": {"least": 3, "page": 6},
        "lists": {"length": 12},
    }
    merged = {name: {**small.get(name, {}), **sections.get(name, {})} for name in small}
    return settings(form, **{**sections, **merged})


def write_study(folder: Path, form: str = "rank", **sections: Any) -> Path:
    """A study file with its data."""
    write_data(folder)
    path = folder / "study.toml"
    path.write_text(_toml(study_settings(form, **sections)), encoding="utf-8")
    return path


def _toml(sections: dict[str, Any]) -> str:
    import json

    def value(one: Any) -> str:
        if isinstance(one, dict):
            return "{ " + ", ".join(f"{json.dumps(k)} = {value(v)}" for k, v in one.items()) + " }"
        if isinstance(one, list):
            return "[" + ", ".join(map(value, one)) + "]"
        return json.dumps(one, ensure_ascii=False)

    return "\n".join(f"{json.dumps(name)} = {value(one)}" for name, one in sections.items()) + "\n"


def make_site(folder: Path, form: str = "rank", *, url: str | None = None, **sections: Any) -> Site:
    """A study that can be served."""
    return Site.open(read_study(write_study(folder, form, **sections)), url)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(site: Site, **limits: Any) -> Iterator[str]:
    """Serve a study in a thread; yields its address."""
    import uvicorn

    from trueval.study.app import make_app
    from trueval.study.serving import server_settings

    port = free_port()
    server = uvicorn.Server(uvicorn.Config(make_app(site, **limits), host="127.0.0.1", port=port, **server_settings()))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        _until(lambda: server.started)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(LIMIT)


class Process:
    """`trueval study serve` in a process of its own, which can be killed."""

    def __init__(self, study: Path, port: int, *more: str) -> None:
        command = [sys.executable, "-m", "trueval", "study", "serve", str(study), "--port", str(port), "--quiet", *more]
        self.address = f"http://127.0.0.1:{port}"
        self.running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        _until(self._answers)

    def _answers(self) -> bool:
        assert self.running.poll() is None, self.running.communicate()[1]
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", int(self.address.rpartition(":")[2]))) == 0

    def kill(self) -> None:
        """End it as a power cut would."""
        os.kill(self.running.pid, signal.SIGKILL)
        self.running.communicate()

    def stop(self) -> str:
        """End it as a person would; returns what it printed."""
        if self.running.poll() is None:
            self.running.send_signal(signal.SIGINT)
        return self.running.communicate(timeout=LIMIT)[0]


def _until(condition: Any) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "it does not start"
        time.sleep(0.02)
