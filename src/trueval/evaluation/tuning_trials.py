"""Finished trials of a search in a folder, one file each, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueval.data.checksummed_json import seal, unseal
from trueval.data.writing import write_whole, writing
from trueval.progress import note
from trueval.recommenders.code_fingerprint import Unknown, code_digest


@dataclass(frozen=True)
class Trials:
    """A folder of finished trials (or none, and nothing is kept). `manifest` is what all of them have in common.

    >>> trials = Trials.open(None, {"metric": "ndcg@10"})
    >>> trials.read(trials.key("plsa", {})) is None
    True
    """

    folder: Path | None
    manifest: dict[str, Any]

    @staticmethod
    def open(folder: str | Path | None, manifest: dict[str, Any]) -> Trials:
        """The trials in a folder, which is made where there is none."""
        if folder is None:
            return Trials(None, manifest)
        with writing(folder, what="trials cannot be saved in this folder", do="choose a writable folder"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        return Trials(Path(folder), manifest)

    def key(self, system: str, parameters: dict[str, Any]) -> str:
        """What identifies a trial: system, parameters, data, options, code and version."""
        from trueval import __version__

        values = sorted((name, _value_text(value)) for name, value in parameters.items())
        everything = [system, values, self.manifest, __version__]
        return hashlib.sha256(json.dumps(everything, sort_keys=True, default=str).encode()).hexdigest()[:20]

    def read(self, key: str) -> dict[str, Any] | None:
        """A finished trial; None where there is none, or one that has changed since it was written."""
        if self.folder is None or not (path := self._path(key)).exists():
            return None
        try:
            found = unseal(path.read_text(encoding="utf-8"))
            return {"value": float(found["value"]), "seconds": float(found["seconds"])}
        except (OSError, ValueError, KeyError, TypeError) as problem:
            note(f"a finished trial is damaged and is computed again: {problem} ({path})")
            return None

    def write(self, key: str, found: dict[str, Any]) -> None:
        """Keep a finished trial."""
        if self.folder is None:
            return
        from trueval import __version__

        write_whole(
            self._path(key),
            seal({**found, **self.manifest, "version": __version__}),
            what="a finished trial could not be saved",
            do="free some space and start again: earlier trials are saved",
        )

    def prune(self) -> int:
        """Remove trials of other versions of trueval, which no search reads any more; how many there were.

        Trials of other grids, metrics, data and code stay: a later search may ask for them again.
        """
        from trueval import __version__

        removed = 0
        for path in sorted(self.folder.glob("trial-*.json")) if self.folder is not None else ():
            try:
                version = unseal(path.read_text(encoding="utf-8")).get("version", __version__)
                if version != __version__:
                    path.unlink()
                    removed += 1
            except (OSError, ValueError):  # damaged, or not ours: nothing that can be judged
                continue
        return removed

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"trial-{key}.json"


def _value_text(value: Any) -> str:
    """A parameter as a text that no other value has: numbers of an array and code of a function are not in its repr."""
    try:
        return code_digest(value)
    except Unknown:
        return repr(value)
