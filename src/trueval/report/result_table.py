"""One result as one table: users' values (parquet), with the manifest and the summary inside."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.comparison.pairing import is_mean_of_units
from trueval.data.failures import FAILURES, first_line, reading
from trueval.data.ids import Ids, plain
from trueval.data.json_values import parse_json
from trueval.data.places import check_not_special
from trueval.data.tables import read_parquet
from trueval.errors import DataError, OutputError, TruevalError
from trueval.evaluation.compat import find_preset
from trueval.evaluation.estimate import Estimate, Sums, sums
from trueval.evaluation.kept_facts import FROM_FILES, KeptFacts
from trueval.evaluation.outcome import Evaluation, SystemResult
from trueval.facts.invalid_places import InvalidPlaces
from trueval.metrics.compute import Measured
from trueval.metrics.grammar import parse
from trueval.metrics.metric_values import Ratio, same
from trueval.metrics.spec import Spec
from trueval.report.render_formats import as_record
from trueval.statistics.jackknife import JackknifeReplicates, pairs

_KEY = "trueval"  # in the metadata of the table
_AGAIN = "write it again with `trueval evaluate --per-user FILE.parquet` or `-o DIR/`"
_FINISH: dict[str, Callable[[np.ndarray], np.ndarray]] = {"same": same, "sqrt": np.sqrt}


def write_result_table(evaluation: Evaluation, path: Path) -> None:
    """Write users' values with manifest and summary inside."""
    record = as_record(evaluation)
    record = {key: record[key] for key in ("systems", "random", "manifest", "warnings")}
    pooled = _pooled(evaluation)
    record = {**record, "pooled": {label: _name_of(finish) for label, finish in pooled.items()}}
    for name, system in evaluation.systems.items():
        record["systems"][name]["replicates"] = {
            label: {"value": found.value, "one": found.one.tolist(), "two": found.two.tolist()}
            for label, found in system.jackknife.items()
        }
    frame = evaluation.per_user()
    for label in pooled:
        frame = frame.with_columns(_parts(evaluation, label))
    frame.write_parquet(path, metadata={_KEY: json.dumps(record, ensure_ascii=False, default=str)})


def read_result_table(path: Path, *, beside: Path, where: str) -> Evaluation:
    """Read what `write_result_table` wrote. `beside` is where a manifest may be that the table does not carry itself.

    `where` is the result that errors name: the table, or the folder that holds it.
    """
    frame, record = _read_table(path, beside)
    with _understanding(where):
        return _evaluation(frame, record, where=where)


def _pooled(evaluation: Evaluation) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Metrics that are ratios of sums over users: their values alone do not give the estimate."""
    first = next(iter(evaluation.systems.values()))
    found = {}
    for label, s in first.sums.items():
        if not is_mean_of_units(s, first.values[label], np.unique(first.unit_user, return_inverse=True)[1]):
            found[label] = s.finish
    return found


def _parts(evaluation: Evaluation, label: str) -> list[pl.Series]:
    """Numerators and denominators of a pooled metric, on the first row of each user (and percentile)."""
    columns: dict[str, list[np.ndarray]] = {}
    for system in evaluation.systems.values():
        s = system.sums[label]
        cluster = np.unique(system.unit_user, return_inverse=True)[1]
        strata = s.numerator.shape[1] // s.factors
        stratum = np.zeros(len(cluster), np.int64) if system.stratum is None else system.stratum
        cells, first = np.unique(cluster * strata + stratum, return_index=True)
        for factor in range(s.factors):
            own = slice(factor * strata, (factor + 1) * strata)
            for name, side in zip(_part_names(label, factor), (s.numerator, s.denominator)):
                values = np.zeros(len(cluster))
                values[first] = side[:, own].ravel()[cells]
                columns.setdefault(name, []).append(values)
    return [pl.Series(name, np.concatenate(column)) for name, column in columns.items()]


def _part_names(label: str, factor: int = 0) -> tuple[str, str]:
    number = f" {factor + 1}" if factor else ""
    return f"{label}|numerator{number}", f"{label}|denominator{number}"


def _read_parts(frame: pl.DataFrame, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Numerators and denominators that `_parts` made, with a column for each factor."""
    factors = next(number for number in itertools.count(1) if _part_names(label, number)[0] not in frame.columns)
    names = zip(*(_part_names(label, factor) for factor in range(factors)))
    above, below = (frame.select(side).to_numpy() for side in names)
    return above, below


def _name_of(finish: Callable[[np.ndarray], np.ndarray]) -> str:
    for name, known in _FINISH.items():
        if finish is known:
            return name
    raise OutputError("a pooled metric cannot be saved", found=repr(finish))


def _read_table(path: Path, beside: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The table, and what it tells about itself."""
    if path.suffix.lower() != ".parquet":
        raise DataError(
            "a result is a folder or a parquet file",
            where=str(path),
            found=path.suffix or "no suffix",
            do="write it with `trueval evaluate --per-user FILE.parquet` or `-o DIR/`",
        )
    check_not_special(path)
    with reading(path, what="a result", do=_AGAIN):
        inside = pl.read_parquet_metadata(path).get(_KEY)
        record = None if inside is None else parse_json(inside)
        together = path.name == "results.parquet"  # a table of another name may be in a folder of something else
        outside = parse_json(beside.read_text(encoding="utf-8")) if beside.is_file() else None
        if record is None and outside is not None:
            record = {"manifest": outside}
    frame = read_parquet(path, what="a result", do=_AGAIN)
    if record is None or not _is_complete(record):
        raise DataError(
            "the table does not say how its values were made",
            where=str(path),
            found="no manifest inside or beside it",
            do="write it with `trueval evaluate --per-user FILE.parquet` or `-o DIR/`",
        )
    if together and outside is not None and not _agree(record["manifest"], outside):
        raise Changed(
            f"{beside.name} and {path.name} of the result say different things of how it was made",
            where=str(path.parent), found="one of them was changed", do=_AGAIN,
        )  # fmt: skip
    missing = [name for name in ("system", "user") if name not in frame.columns]
    if missing or not len(frame):
        found = f"no column {' or '.join(missing)}" if missing else "no rows"
        raise DataError("the table holds no users' values", where=str(path), found=found)
    return frame, record


class Changed(DataError):
    """The manifest of a result folder and its table are not of one result."""


def _agree(inside: dict[str, Any], outside: Any) -> bool:
    """Whether the manifest of a folder says all that the table itself does."""
    if not isinstance(outside, dict):
        return False
    if not inside.keys() & outside.keys():  # it was not written as that of a result
        return True
    return all(name in outside and outside[name] == value for name, value in inside.items())


def _is_complete(record: Any) -> bool:
    """Whether a record has the parts of a result, each of its kind."""
    kinds = {"manifest": dict, "systems": dict, "random": dict, "pooled": dict, "warnings": list}
    if not isinstance(record, dict) or not all(isinstance(record.get(k, kind()), kind) for k, kind in kinds.items()):
        return False
    return isinstance(record.get("manifest", {}).get("definitions"), dict)


@contextmanager
def _understanding(where: str) -> Iterator[None]:
    """What a record leads to where something in it is missing, or is of another kind than it was written as."""
    try:
        yield
    except TruevalError:
        raise
    except (*FAILURES, ArithmeticError, AttributeError, LookupError, TypeError) as problem:
        found = f"{type(problem).__name__}: {first_line(problem)}"
        raise DataError("the result is damaged", where=where, found=found, do=_AGAIN) from problem


def _evaluation(frame: pl.DataFrame, record: dict[str, Any], *, where: str) -> Evaluation:
    manifest = {key: value for key, value in record["manifest"].items() if key != "files"}
    specs = {label: _spec(label, manifest, where) for label in manifest["definitions"]}
    users = Ids.of(plain(frame["user"], where=where))
    items = Ids.of(plain(frame["item"], where=where)) if "item" in frame.columns else None  # 1R: what a unit is about
    systems = {
        str(name): _system(own, users, items, record, specs, str(name))
        for (name,), own in frame.group_by("system", maintain_order=True)
    }
    kept = {label: spec for label, spec in specs.items() if all(label in s.estimates for s in systems.values())}
    return Evaluation(
        systems, kept, record.get("random", {}), manifest, record.get("warnings", []),
        facts=KeptFacts(otherwise=FROM_FILES),
    )  # fmt: skip


def _spec(label: str, manifest: dict[str, Any], where: str) -> Spec:
    try:
        spec = parse(label.partition("|n=")[0])
    except TruevalError as problem:
        raise DataError(
            f"the result has a metric that is not known here: {label}",
            where=where,
            found=problem.what,
            do="import what defines it, or use the version of trueval that wrote the result",
        ) from None
    preset = find_preset(manifest.get("compat"))
    return spec if preset is None else preset.apply(spec)


def _system(
    frame: pl.DataFrame, users: Ids, items: Ids | None, record: dict[str, Any], specs: dict[str, Spec], name: str
) -> SystemResult:
    """One system's values and sums from its rows."""
    unit_user = users.codes(plain(frame["user"], where=name))
    order = np.argsort(unit_user, kind="stable")
    frame, unit_user = frame[order], unit_user[order]
    clusters, cluster = np.unique(unit_user, return_inverse=True)
    stratum = frame["percentile"].to_numpy() - 1 if "percentile" in frame.columns else None
    values: dict[str, np.ndarray] = {}
    by_label: dict[str, Sums] = {}
    for label in specs:
        if label not in frame.columns:
            continue
        values[label] = frame[label].cast(pl.Float64).fill_null(np.nan).to_numpy()
        by_label[label] = sums(Measured(values[label]), cluster, len(clusters), stratum)
        finish = record.get("pooled", {}).get(label)
        if finish is not None:
            pooled = Ratio(*_read_parts(frame, label), _FINISH[finish])
            by_label[label] = sums(Measured(values[label], ratio=pooled), cluster, len(clusters), stratum)
    own = record.get("systems", {}).get(name, {})
    written, notes = own.get("metrics", {}), own.get("notes", {})
    estimates = {label: _estimate(written.get(label), by_label.get(label), notes.get(label, "")) for label in specs}
    known = {label: e for label, e in estimates.items() if e is not None}
    replicates = {label: _replicates(found) for label, found in own.get("replicates", {}).items()}
    return SystemResult(
        estimates=known, values=values, sums=by_label, unit_user=unit_user, users=users, stratum=stratum,
        jackknife=replicates, unit_item=None if items is None else items.codes(plain(frame["item"], where=name)),
        items=items, invalid=InvalidPlaces.of_record(own.get("invalid")),
    )  # fmt: skip


def _replicates(found: dict[str, Any]) -> JackknifeReplicates:
    one, two = (np.array(found[key], np.float64) for key in ("one", "two"))
    if len(two) != len(pairs(len(one))[0]):
        raise ValueError("replicates are missing")
    return JackknifeReplicates(float(found["value"]), one, two)


def _estimate(written: dict[str, Any] | None, s: Sums | None, note: str) -> Estimate | None:
    """As it was written, or found again."""
    if written is not None:
        number = {key: np.nan if written[key] is None else float(written[key]) for key in ("value", "low", "high")}
        return Estimate(**number, n=int(written["n"]), undefined=int(written["undefined"]), note=str(note))
    return None if s is None else Estimate(float(s.value()[0]), np.nan, np.nan, s.n, s.undefined)
