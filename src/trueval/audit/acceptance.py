"""Findings that the reader has accepted, with a reason, for the data that were audited then."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trueval.audit.finding import Finding
from trueval.errors import DefinitionError, suggest

_KEYS = ("reason", "data")


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that was accepted, and why."""

    finding: Finding
    reason: str

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {**self.finding.record(), "accepted": self.reason}


def fingerprint(data: Mapping[str, Any]) -> str:
    """One short digest of all that was audited.

    >>> fingerprint({"test": "ab", "train": "cd"}) == fingerprint({"train": "cd", "test": "ab"})
    True
    """
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:12]


def accept_findings(
    findings: Sequence[Finding], accept: Mapping[str, Any] | None, *, known: Sequence[str], data: str
) -> tuple[list[Finding], list[Accepted]]:
    """Take out what was accepted for these data. What was accepted for other data returns, and says so."""
    kept, taken = list(findings), []
    for name, entry in (accept or {}).items():
        reason, own = _read(name, entry, known, data)
        for finding in [one for one in kept if one.check == name and one.verdict in ("wrong", "caution")]:
            place = kept.index(finding)
            if own == data:
                taken.append(Accepted(kept.pop(place), reason))
            else:
                note = f" It was accepted for other data ({own}; these are {data}): {reason}"
                kept[place] = replace(finding, sentence=finding.sentence + note)
    return kept, taken


def _read(name: str, entry: Any, known: Sequence[str], data: str) -> tuple[str, str]:
    if name not in known:
        raise DefinitionError(f"there is no check {name!r} to accept", where="accept", do=suggest(name, known))
    given = dict(entry) if isinstance(entry, Mapping) else {"reason": entry}
    for key in given:
        if key not in _KEYS:
            raise DefinitionError(f"unknown key {key!r}", where=f"accept {name}", do=suggest(key, _KEYS))
    for key in _KEYS:
        if not isinstance(given.get(key), str) or not given[key].strip():
            what = "a reason" if key == "reason" else "the data that it is accepted for"
            do = f'reason = "…", data = "{data}"'
            raise DefinitionError(f"an accepted finding needs {what}", where=f"accept {name}", do=do)
    return given["reason"].strip(), given["data"].strip()
