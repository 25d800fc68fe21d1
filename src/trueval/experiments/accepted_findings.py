"""Findings of an audit that an experiment file accepts, each with a reason and the data it is accepted for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueval.errors import DefinitionError
from trueval.experiments.experiment_file import Written, read_written, show


def read_accepted(source: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    """The `[audit.accept.CHECK]` sections of an experiment: reason and data by check; what they must be the audit says.

    >>> read_accepted({"audit": {"accept": {"future_rows": {"reason": "known", "data": "0a1b"}}}})
    {'future_rows': {'reason': 'known', 'data': '0a1b'}}
    """
    return accepted_findings(read_written(source))


def accepted_findings(written: Written) -> dict[str, Any]:
    """The same of an experiment that was read."""
    found = written.section("audit").get("accept", {})
    if not isinstance(found, Mapping):
        raise DefinitionError(
            "accept must be a section", where=written.at("audit", "accept"), found=show(found),
            do='write [audit.accept.CHECK] with reason = "…" and data = "…"',
        )  # fmt: skip
    return dict(found)
