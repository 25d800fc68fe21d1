"""Whether two versions of trueval give the same bits: python benchmarks/same_bits.py OLD/src NEW/src

Evaluates runs over a grid of ids, row orders, keys, tie rules, metrics, designs, presets and faults, each version in
processes of its own, and compares values, intervals, p-values, notes, per-user values and error messages to the last
character. Speed-ups must pass it: whatever they cut short, what a reader sees stays the same.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TEN = "precision@10,recall@10,ndcg@10,ap@10,rr@10,hit@10"
DEEP = "ndcg,ap,rr,recall@100,bpref,rprec,err@20,ndcg@3"
BEYOND = "coverage@10,gini@10,entropy@5,novelty@10,tail_share@10,ndcg@10"
Case = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", help="two folders src")
    parser.add_argument("--only", choices=list(_CASES), help="compare one kind of cases")
    parser.add_argument("--cases", choices=list(_CASES), help="print the results of one kind of cases")
    options = parser.parse_args()
    if options.cases:
        print(json.dumps({name: _outcome(case) for name, case in _CASES[options.cases]()}, indent=1))
        return 0
    found = 0
    for kind in [options.only] if options.only else _CASES:
        old, new = (_results(source, kind) for source in options.sources)
        different = [name for name in old if old[name] != new.get(name)]
        errors = sum(1 for value in old.values() if "error" in value)
        print(f"{kind}: {len(old):,} cases, {errors} of them errors, {len(different)} differ", flush=True)
        for name in different[:10]:
            print(f"--- {name}\nold: {str(old[name])[:1500]}\nnew: {str(new.get(name))[:1500]}")
        found += len(different)
    return 1 if found else 0


def _results(source: str, kind: str) -> dict[str, Any]:
    surroundings = os.environ | {"PYTHONPATH": source}
    surroundings.pop("TRUEVAL_KERNELS", None)
    if kind != "large":
        surroundings["TRUEVAL_KERNELS"] = "compiled" if kind == "written" else kind
    command = [sys.executable, __file__, "--cases", kind]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=surroundings)
    return json.loads(done.stdout)


def _outcome(case: Case) -> dict[str, str]:
    """All that a reader sees of a case."""
    import trueval as tv

    case = dict(case)
    patched, baseline = case.pop("chunks", None), case.pop("baseline", None)
    try:
        with _small_chunks(patched):
            result = tv.evaluate_run(case.pop("recs"), case.pop("test"), **case)
            per_user = result.per_user.write_csv(float_precision=None)
            return {
                "json": result.to_json(baseline=baseline),
                "text": result.to_text(baseline=baseline),
                "per_user": per_user if len(per_user) < 4000 else hashlib.sha256(per_user.encode()).hexdigest(),
            }
    except tv.TruevalError as error:
        return {"error": f"{type(error).__name__}: {error}"}


class _small_chunks:
    """Files count as large, and are read in small pieces."""

    def __init__(self, rows: int | None) -> None:
        self.rows = rows

    def __enter__(self) -> None:
        from trueval.evaluation.engines import local

        try:
            from trueval.data import whole_runs
        except ImportError:  # in versions before it
            whole_runs = local  # type: ignore[assignment]
        self.limits = (local, "STREAMED_ROWS", local.STREAMED_ROWS), (whole_runs, "MANY_ROWS", whole_runs.MANY_ROWS)
        for module, name, _ in self.limits if self.rows else ():
            setattr(module, name, self.rows)

    def __exit__(self, *_: object) -> None:
        for module, name, before in self.limits:
            setattr(module, name, before)


# Tables


def _tables(users: int = 70, items: int = 60, length: int = 25, seed: int = 3, ties: bool = False) -> dict[str, Any]:
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, length + 1, users)
    lengths[: users // 2] = length
    lists = [rng.permutation(items)[:n] for n in lengths]
    user = np.repeat(np.arange(users), lengths)
    score = np.concatenate([np.sort(rng.random(n))[::-1] for n in lengths])
    score = np.round(score * 8) / 8 if ties else score
    recs = pl.DataFrame({"user": user, "item": np.concatenate(lists), "score": score})
    judged = [np.sort(rng.permutation(items)[: rng.integers(1, 9)]) for _ in range(users)]
    test_user = np.repeat(np.arange(users), [len(j) for j in judged])
    value = rng.integers(0, 6, len(test_user)).astype(float)
    test = pl.DataFrame({"user": test_user, "item": np.concatenate(judged), "value": value})
    test = test.filter(pl.col("user") % 9 != 8)  # some users of the run are not tested
    recs = recs.filter(pl.col("user") % 11 != 10)  # and some tested users have no list
    pairs = pl.DataFrame({"user": rng.integers(0, users, 600), "item": rng.integers(0, items, 600)})
    train = pairs.join(test, on=["user", "item"], how="anti").sort("user", "item")
    return {"recs": recs, "test": test, "train": train}


def _as_ids(kind: str) -> Callable[[Any, str], Any]:
    """Ids of another kind, in an order of their own."""
    import polars as pl

    def change(frame: Any, seed: str) -> Any:
        def one(role: str) -> Any:
            code = pl.col(role).cast(pl.Int64)
            if kind == "text":
                return pl.format(f"{role[0]}-{{}}", (code * 7919) % 1_000_003).alias(role)
            if kind == "long text":
                return pl.format(f"{role}-with-a-long-name-{{}}", (code * 7919) % 1_000_003).alias(role)
            if kind == "categorical":
                return pl.format(f"{role[0]}-{{}}", (code * 7919) % 1_000_003).cast(pl.Categorical).alias(role)
            if kind == "sparse":
                return ((code * 7919 % 1_000_003) * 10**10 + 5).alias(role)
            if kind == "unsigned":
                return (code.cast(pl.UInt64) + 2**63 + 11).alias(role)
            if kind == "negative":
                return (code - 40).alias(role)
            return code.cast(pl.Int32 if kind == "narrow" else pl.Int64).alias(role)

        return frame.with_columns(one("user"), one("item"))

    return change


def _ordered(recs: Any, how: str) -> Any:
    if how == "sorted":
        return recs
    if how == "backwards":  # users stand together, but fall
        return recs.sort("user", descending=True, maintain_order=True)
    return recs.sample(fraction=1, shuffle=True, seed=4)


def _keyed(recs: Any, how: str) -> Any:
    import polars as pl

    rank = pl.col("score").rank("ordinal", descending=True).over("user").cast(pl.Int64)
    if how == "rank":
        return recs.with_columns(rank=rank).drop("score")
    if how == "both":
        return recs.with_columns(rank=rank)
    if how == "narrow":
        return recs.with_columns(pl.col("score").cast(pl.Float32))
    return recs.drop("score") if how == "none" else recs


def _small_cases() -> Iterator[tuple[str, Case]]:
    yield from _grid()
    yield from _options()
    yield from _faults()
    yield from _files()


def _grid() -> Iterator[tuple[str, Case]]:
    kinds = ("whole", "narrow", "sparse", "unsigned", "negative", "text", "long text", "categorical")
    orders, keys, equal = (
        ("sorted", "backwards", "shuffled"),
        ("score", "narrow", "rank", "both", "none"),
        (False, True),
    )
    for ties in equal:
        tables = _tables(ties=ties)
        for kind, order, key in itertools.product(kinds, orders, keys):
            if ties and key in ("rank", "both", "none"):
                continue
            changed = {name: _as_ids(kind)(frame, name) for name, frame in tables.items()}
            recs = _keyed(_ordered(changed["recs"], order), key)
            for metrics in (TEN, DEEP):
                rule = {"ties": "given"} if key == "none" else {}
                name = f"{kind} {order} {key} {'tied ' if ties else ''}{metrics}"
                yield name, {"recs": recs, "test": changed["test"], "metrics": metrics, "resamples": 50, **rule}


def _options() -> Iterator[tuple[str, Case]]:
    for equal, kind in itertools.product((False, True), ("whole", "text")):
        tables = {name: _as_ids(kind)(frame, name) for name, frame in _tables(ties=equal).items()}
        base: Case = {
            "recs": _ordered(tables["recs"], "shuffled"),
            "test": tables["test"],
            "metrics": TEN,
            "resamples": 60,
        }
        trained = base | {"train": tables["train"]}
        word = f"{kind}{' tied' if equal else ''}"
        for rule, metrics in itertools.product(("random", "expected", "worst", "best", "given"), (TEN, DEEP, BEYOND)):
            yield f"{word} ties {rule} {metrics}", trained | {"ties": rule, "metrics": metrics, "seed": 5}
        for preset in ("trec_eval", "ranx", "recbole", "lenskit", "rectools", "replay", "recommenders", "spark"):
            for metrics in (TEN, "ndcg@10,recall@5,map", "rr,ap@20", "coverage@10"):
                yield f"{word} compat {preset} {metrics}", base | {"compat": preset, "metrics": metrics}
        for population, missing in itertools.product(("relevant", "judged", "all"), ("zero", "drop", "error")):
            yield f"{word} {population} {missing}", base | {"population": population, "missing": missing}
            yield (
                f"{word} {population} {missing} threshold",
                trained
                | {"population": population, "missing": missing, "threshold": 3, "metrics": f"{TEN},novelty@10"},
            )
        for interval in ("bootstrap", "bca", "t", "none"):
            yield f"{word} interval {interval}", base | {"interval": interval, "metrics": f"{TEN},coverage@10"}
        for design in ("given", "given-condensed", "given-seen", "given-head10", "given-head10-condensed"):
            for metrics in (TEN, DEEP, BEYOND):
                yield f"{word} {design} {metrics}", trained | {"design": design, "metrics": metrics}
        for metrics in (
            "ndcg@1",
            "ndcg@24",
            "ndcg@25",
            "ndcg@26",
            "ndcg@10,ndcg@11",
            "coverage@3,rr@100",
            "mae",
            "nope@10",
        ):
            yield f"{word} metrics {metrics}", base | {"metrics": metrics}
        for by in ("activity", "popularity", "taste"):
            yield f"{word} by {by}", trained | {"by": by, "min_group": 3}
        catalogue = tables["train"].select("item").vstack(base["recs"].select("item")).unique().sort("item")
        for metrics in (TEN, BEYOND, "ndcg@10,auc"):
            yield f"{word} catalogue {metrics}", trained | {"items": catalogue, "metrics": metrics}
            yield f"{word} catalogue too small {metrics}", base | {"items": catalogue.head(40), "metrics": metrics}
        other = _ordered(tables["recs"], "sorted").group_by("user", maintain_order=True).tail(12)
        both = base | {
            "recs": {"one": base["recs"], "other": other},
            "metrics": f"{TEN},coverage@10",
            "baseline": "one",
        }
        yield f"{word} two runs", both
        yield f"{word} two runs, threads", both | {"threads": 1}


def _faults() -> Iterator[tuple[str, Case]]:
    import polars as pl

    for kind, order, where in itertools.product(("whole", "text", "sparse"), ("sorted", "shuffled"), (2, 20)):
        tables = {name: _as_ids(kind)(frame, name) for name, frame in _tables().items()}
        recs, test = tables["recs"], tables["test"]
        row = pl.int_range(pl.len()).over("user") == where
        first = recs["user"][0]
        of_first = (pl.col("user") == first) & row
        untested = recs["user"].unique(maintain_order=True)[8]
        spoiled = {
            "twice": recs.with_columns(item=pl.when(of_first).then(pl.col("item").shift(1)).otherwise(pl.col("item"))),
            "twice in many": recs.with_columns(
                item=pl.when(row).then(pl.col("item").shift(1)).otherwise(pl.col("item"))
            ),
            "twice, untested user": recs.with_columns(
                item=pl.when((pl.col("user") == untested) & row).then(pl.col("item").shift(1)).otherwise(pl.col("item"))
            ),
            "row twice": pl.concat([recs, recs.filter(of_first)]),
            "same item twice, far apart": recs.with_columns(
                item=pl.when(of_first).then(pl.col("item").first().over("user")).otherwise(pl.col("item"))
            ),
            "nan": recs.with_columns(score=pl.when(of_first).then(float("nan")).otherwise(pl.col("score"))),
            "infinite": recs.with_columns(score=pl.when(row).then(float("inf")).otherwise(pl.col("score"))),
            "no score": recs.with_columns(score=pl.when(row).then(None).otherwise(pl.col("score"))),
            "no item": recs.with_columns(item=pl.when(of_first).then(None).otherwise(pl.col("item"))),
            "no user": recs.with_columns(user=pl.when(of_first).then(None).otherwise(pl.col("user"))),
            "text score": recs.with_columns(score=pl.lit("high")),
            "nan, untested user": recs.with_columns(
                score=pl.when((pl.col("user") == untested) & row).then(float("nan")).otherwise(pl.col("score"))
            ),
            "strange item": recs.with_columns(
                item=pl.when(of_first).then(pl.lit("zz" if kind == "text" else 999_999)).otherwise(pl.col("item"))
            ),
            "common items only below": _without_common(recs, keep_from=where),
            "no common item": _without_common(recs, keep_from=99),
            "no common user": recs.filter(pl.col("user") == untested),
            "nothing": recs.head(0),
        }
        ranked = _keyed(recs, "rank")
        spoiled |= {
            "rank twice": ranked.with_columns(rank=pl.when(of_first).then(1).otherwise(pl.col("rank"))),
            "rank below 0": ranked.with_columns(rank=pl.when(of_first).then(-5).otherwise(pl.col("rank"))),
            "rank from 0": ranked.with_columns(rank=pl.col("rank") - 1),
            "rank with gaps": ranked.with_columns(rank=pl.col("rank") * 3),
            "rank is half": ranked.with_columns(rank=pl.col("rank") / 2),
            "contradiction": _keyed(recs, "both").with_columns(
                score=pl.when(of_first).then(7.0).otherwise(pl.col("score"))
            ),
        }
        for name, frame in spoiled.items():
            for extra in ({}, {"population": "all"}, {"train": tables["train"]}):
                case = {"recs": _ordered(frame, order), "test": test, "metrics": TEN, "interval": "none", **extra}
                yield f"{kind} {order} {where} {name} {list(extra)}", case
        other = _as_ids("text" if kind != "text" else "whole")(_tables()["test"], "test")
        yield f"{kind} {order} {where} other kind", {"recs": recs, "test": other, "metrics": TEN}
        doubled = pl.concat([test, test.head(3)])
        yield f"{kind} {where} judged twice", {"recs": recs, "test": doubled, "metrics": TEN, "resamples": 20}
        differs = pl.concat([test, test.head(3).with_columns(value=pl.col("value") + 1)])
        yield f"{kind} {where} judged twice, differently", {"recs": recs, "test": differs, "metrics": TEN}
        overlap = pl.concat([tables["train"], test.head(2).select("user", "item")])
        yield f"{kind} {where} tested in train", {"recs": recs, "test": test, "train": overlap, "metrics": TEN}


def _without_common(recs: Any, *, keep_from: int) -> Any:
    """Items of the test set only from this place of the lists on."""
    import polars as pl

    place = pl.int_range(pl.len()).over("user")
    changed = pl.col("item") + ("?" if recs["item"].dtype == pl.String else 10**7)
    return recs.with_columns(item=pl.when(place < keep_from).then(changed).otherwise(pl.col("item")))


def _files() -> Iterator[tuple[str, Case]]:
    with tempfile.TemporaryDirectory() as folder:
        yield from _files_in(Path(folder))
        os.chdir(Path(__file__).parent)


def _files_in(folder: Path) -> Iterator[tuple[str, Case]]:
    import polars as pl

    for kind, order in itertools.product(
        ("whole", "narrow", "text", "categorical", "sparse", "unsigned"), ("sorted", "shuffled")
    ):
        tables = {name: _as_ids(kind)(frame, name) for name, frame in _tables(ties=True).items()}
        recs = _ordered(tables["recs"], order)
        recs = recs.sort("user", maintain_order=True) if order == "sorted" else recs
        twice = pl.concat([recs.head(24), recs.head(1), recs.slice(24)])
        for ending in ("csv", "parquet", "jsonl"):
            (place := folder / f"{kind} {order} {ending}").mkdir()
            for name, frame in {**tables, "recs": recs, "twice": twice}.items():
                frame = frame if ending == "parquet" else frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
                path = place / f"{name}.{ending}"
                {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[ending](path)
            for run, metrics in itertools.product(("recs", "twice"), (TEN, DEEP)):
                case: Case = {
                    "recs": f"{run}.{ending}",
                    "test": f"test.{ending}",
                    "metrics": metrics,
                    "interval": "none",
                }
                os.chdir(place)
                yield f"{place.name} {run} {metrics}", case
                yield f"{place.name} {run} {metrics} sorted", case | {"sorted_by_user": True}
                yield f"{place.name} {run} {metrics} chunks", case | {"chunks": 100}
                yield f"{place.name} {run} {metrics} train", case | {"train": f"train.{ending}", "population": "all"}
        if ending == "jsonl":
            yield f"{place.name} columns", {"recs": "recs.jsonl", "test": "test.jsonl", "columns": "score=value"}


def _large_cases() -> Iterator[tuple[str, Case]]:
    """Large enough for compiled kernels, and for several pieces and threads."""
    for equal, kind in itertools.product((False, True), ("whole", "sparse", "text", "categorical", "unsigned")):
        made = _tables(users=24_000, items=900, length=100, ties=equal)
        tables = {name: _as_ids(kind)(frame, name) for name, frame in made.items()}
        for order, key in itertools.product(("sorted", "backwards", "shuffled"), ("score", "narrow", "rank")):
            if key == "rank" and equal:
                continue
            recs = _keyed(_ordered(tables["recs"], order), key)
            for metrics in (TEN, f"{TEN},coverage@10", DEEP):
                case = {"recs": recs, "test": tables["test"], "metrics": metrics, "resamples": 30}
                yield f"{kind} {equal} {order} {key} {metrics}", case
        trained = {"recs": recs, "test": tables["test"], "train": tables["train"], "resamples": 30}
        yield f"{kind} {equal} trained", trained | {"metrics": BEYOND, "population": "all"}
        yield f"{kind} {equal} trec", {"recs": recs, "test": tables["test"], "compat": "trec_eval", "interval": "none"}
    yield from _twice_in_a_large_run()


def _twice_in_a_large_run() -> Iterator[tuple[str, Case]]:
    import polars as pl

    for kind, order, where in itertools.product(("whole", "text"), ("sorted", "shuffled"), (3, 77)):
        made = _tables(users=6_000, items=900, length=100)
        tables = {name: _as_ids(kind)(frame, name) for name, frame in made.items()}
        row = (pl.int_range(pl.len()).over("user") == where) & (pl.int_range(pl.len()) > 200_000)
        recs = tables["recs"].with_columns(item=pl.when(row).then(pl.col("item").shift(2)).otherwise(pl.col("item")))
        case = {"recs": _ordered(recs, order), "test": tables["test"], "metrics": TEN, "interval": "none"}
        yield f"twice {kind} {order} {where}", case


def _written_cases() -> Iterator[tuple[str, Case]]:
    """The small cases with their runs in parquet files, as they are and with every list in order."""
    import polars as pl

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # messages name the file as it was given
        path = Path("recs.parquet")
        for name, case in itertools.chain(_grid(), _options(), _faults()):
            recs = case["recs"]
            if not isinstance(recs, pl.DataFrame):
                continue
            if not {"user", "score"} <= set(recs.columns):
                orders = [recs]
            else:
                orders = [recs, recs.sort("user", -pl.col("score").cast(float, strict=False), maintain_order=True)]
            for number, rows in enumerate(orders):
                rows.write_parquet(path, row_group_size=100)
                yield f"{name} file {number}", case | {"recs": path}
        os.chdir(Path(__file__).parent)


_CASES: dict[str, Callable[[], Iterator[tuple[str, Case]]]] = {
    "plain": _small_cases,
    "compiled": _small_cases,
    "written": _written_cases,
    "large": _large_cases,
}

if __name__ == "__main__":
    raise SystemExit(main())
