"""Studies for the tests, on SQLite and, where it is installed, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from postgres_cluster import cluster
from small_studies import settings

from trueval.study.definition import read_study
from trueval.study.storage import Storage


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """Addresses of new databases in a PostgreSQL of our own; a skip where it is not installed."""
    with cluster() as new_database:
        yield new_database


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'answers.sqlite'}"
    return request.getfixturevalue("postgres")()


@pytest.fixture
def new_storage(database: str) -> Callable[..., Storage]:
    """A study's storage on each kind of database; arguments are those of `settings`."""

    def make(form: str = "rank", **sections: object) -> Storage:
        return Storage.open(read_study(settings(form, **sections)), database)

    return make
