"""Serve a study: one process by default, several that each fit the systems on request."""

from __future__ import annotations

import os
from typing import Any

from trueval.progress import set_quiet
from trueval.study.app import make_app
from trueval.study.definition import read_study
from trueval.study.site import Site
from trueval.study.slow_connections import LimitedConnection

_STUDY, _DATABASE = "TRUEVAL_STUDY", "TRUEVAL_STUDY_DATABASE"


def serve(site: Site, *, host: str, port: int) -> None:
    """Serve until interrupted. Visitors' addresses are written nowhere."""
    import uvicorn

    _one_thread()
    uvicorn.run(make_app(site), host=host, port=port, **server_settings())


def serve_by_several(study: str, url: str | None, *, host: str, port: int, workers: int) -> None:
    """Serve by several processes; each of them reads the study and fits its systems."""
    import uvicorn

    os.environ[_STUDY] = study
    os.environ[_DATABASE] = url or ""
    uvicorn.run(f"{__name__}:app_of_worker", factory=True, host=host, port=port, workers=workers, **server_settings())


def app_of_worker() -> Any:
    """The application of one of several processes."""
    set_quiet(True)
    _one_thread()
    return make_app(Site.open(read_study(os.environ[_STUDY]), os.environ[_DATABASE] or None))


def _one_thread() -> None:
    """Products for one person are small, and many people come at once: threads inside each would only be in the way."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")


def server_settings() -> dict[str, Any]:
    """How uvicorn serves a study: visitors are not logged, slow ones are closed."""
    return {
        "http": LimitedConnection, "ws": "none", "access_log": False, "server_header": False, "log_level": "warning",
        "timeout_keep_alive": 10, "timeout_graceful_shutdown": 10, "proxy_headers": False, "lifespan": "off",
    }  # fmt: skip
