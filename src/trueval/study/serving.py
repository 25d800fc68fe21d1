"""Serve a study: one process by default, several that each fit the systems on request."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from trueval.errors import DefinitionError
from trueval.progress import set_quiet
from trueval.study.address_limit import networks
from trueval.study.app import make_app
from trueval.study.database import TERMINATED
from trueval.study.definition import read_study
from trueval.study.site import Site
from trueval.study.slow_connections import LimitedConnection

_STUDY, _DATABASE, _PROXIES = "TRUEVAL_STUDY", "TRUEVAL_STUDY_DATABASE", "TRUEVAL_STUDY_PROXIES"


def check_address(host: str, port: int) -> None:
    """Refuse an address that cannot be listened at, before systems are fitted and a secret is printed."""
    try:
        kind, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(kind) as probe:
            if os.name == "posix":  # as uvicorn does: a port that was left a moment ago is free
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        raise DefinitionError(
            "the study cannot be served at this address", where=f"{host}, port {port}",
            found=error.strerror or str(error), do="choose another port (--port 8001) or address (--host)",
        ) from None  # fmt: skip


def serve(site: Site, *, host: str, port: int, proxies: Sequence[str] = ()) -> None:
    """Serve until interrupted. Visitors' addresses are written nowhere."""
    import uvicorn

    _one_thread()
    with _stopped(), site.storage:
        uvicorn.run(make_app(site, proxies=networks(proxies)), host=host, port=port, **server_settings())


@contextmanager
def _stopped() -> Iterator[None]:
    """A server that was asked to stop did what it should; `ended_by_signal` makes an exit of the request."""
    try:
        yield
    except SystemExit as end:
        if end.code != TERMINATED:
            raise


def serve_by_several(
    study: str, url: str | None, *, host: str, port: int, workers: int, proxies: Sequence[str] = ()
) -> None:
    """Serve by several processes; each of them reads the study and fits its systems."""
    import uvicorn

    os.environ[_STUDY] = study
    os.environ[_DATABASE] = url or ""
    os.environ[_PROXIES] = ",".join(proxies)
    with _stopped():
        uvicorn.run(
            f"{__name__}:app_of_worker", factory=True, host=host, port=port, workers=workers, **server_settings()
        )


def app_of_worker() -> Any:
    """The application of one of several processes."""
    set_quiet(True)
    _one_thread()
    site = Site.open(read_study(os.environ[_STUDY]), os.environ[_DATABASE] or None)
    return make_app(site, proxies=networks(filter(None, os.environ[_PROXIES].split(","))))


def _one_thread() -> None:
    """Products for one person are small, and many people come at once: threads inside each would only be in the way."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")


def server_settings() -> dict[str, Any]:
    """How uvicorn serves a study: visitors are not logged, slow ones are closed."""
    return {
        "http": LimitedConnection, "ws": "none", "access_log": False, "server_header": False, "log_level": "warning",
        "timeout_keep_alive": 10, "timeout_graceful_shutdown": 10, "proxy_headers": False, "lifespan": "on",
    }  # fmt: skip
