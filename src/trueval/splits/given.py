"""Parts the user already has: separate tables, and a biased log with an unbiased test."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.ids import Ids, check_same_kind
from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError
from trueval.splits.options import share, table
from trueval.splits.parts import Parts
from trueval.splits.registry import BY_PAIR, split
from trueval.splits.row_hashing import chain, coin

# Why rows are in neither part: of the biased log, and of the unbiased one.
TESTED, NOT_SAMPLED = "pair is in the unbiased test", "not sampled"


@split(by="tables", options={"test": table("the test part"), "validation": table("the validation part")})
def given(train: Interactions, test: Interactions, *, validation: Interactions | None = None) -> Parts:
    """Parts from tables that are already split; ids must be of one type, and some items known to both.

    >>> table = pl.DataFrame({"user": [1, 2], "item": [1, 2]})
    >>> parts = given(Interactions.of(table, name="train"), Interactions.of(table.head(1), name="test"))
    >>> len(parts.train), len(parts.test)
    (2, 1)
    """
    others = [test] if validation is None else [test, validation]
    train, test, *more = _comparable(train, *others)
    validation = more[0] if more else None
    return Parts(train, test, validation, how={"how": "given", "train": train.name, "test": test.name})


@split(
    by="tables",
    options={
        "mar": table("ratings of items chosen at random; not needed if DATA contains them (Coat, CM100k, Yahoo! R3)"),
        "ratio": share("share of the biased log to hold out as an ordinary test"),
        "sample": share("share of the random ratings to test on", whole=True),
    },
    chance=lambda how: BY_PAIR,
    pair="mar",
)
def unbiased(
    mnar: Interactions, mar: Interactions, *, ratio: float | None = 0.2, sample: float = 1.0, seed: int = 0
) -> Parts:
    """Train on a biased log, test on ratings of items chosen at random: `test` gives the true values.

    A share `ratio` of the biased log is held out as `observed`: `evaluate` shows beside the true values what an
    ordinary test would have given, and whether both rank the systems alike (None holds nothing out). `sample` is the
    share of the unbiased log to test. One coin per user and item decides both, so where the biased log is part of
    the unbiased one (CM100k), ratio = sample = 0.2 tests one fold and trains on the rest. Train rows whose pair is
    tested are dropped.

    >>> mnar = Interactions.of(pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1]}))
    >>> mar = Interactions.of(pl.DataFrame({"user": [1, 2], "item": [1, 2]}))
    >>> parts = unbiased(mnar, mar, ratio=None)
    >>> len(parts.train), len(parts.test), parts.dropped["reason"].to_list()
    (2, 2, ['pair is in the unbiased test'])
    """
    held_out = 0.0 if ratio is None else ratio
    mnar, mar = _comparable(mnar, mar)
    vocabulary = [Ids.of(mnar.frame[role], mar.frame[role]) for role in ("user", "item")]

    def flips(log: Interactions) -> np.ndarray:
        codes = (ids.codes(log.frame[role]) for ids, role in zip(vocabulary, ("user", "item")))
        return coin(chain(seed, "unbiased", *codes))

    seen, true = flips(mnar) < held_out, flips(mar) < sample
    test = mar.frame.filter(true)
    tested = _in_pairs(mnar.frame, test)
    how = {
        "how": "unbiased",
        "ratio": ratio,
        "sample": sample,
        "seed": seed,
        "mnar": mnar.name,
        "mar": mar.name,
    }
    reasons = {
        TESTED: mnar.frame.filter(~seen & tested),
        NOT_SAMPLED: mar.frame.filter(~true),
    }
    parts = Parts(
        train=mnar.keep(mnar.frame.filter(~seen & ~tested), name=f"{mnar.name}, train"),
        test=mar.keep(test, name=f"{mar.name}, test"),
        observed=None if ratio is None else mnar.keep(mnar.frame.filter(seen), name=f"{mnar.name}, observed"),
        dropped=_with_reasons(reasons),
        how=how,
    )
    _check_filled(parts)
    return parts


def _in_pairs(frame: pl.DataFrame, pairs: pl.DataFrame) -> np.ndarray:
    """Whether the user and item of each row occur together in other rows."""
    marked = pairs.select("user", "item").unique().with_columns(found=pl.lit(True))
    joined = frame.select("user", "item").join(marked, on=["user", "item"], how="left", maintain_order="left")
    return joined["found"].fill_null(False).to_numpy()


def _with_reasons(reasons: dict[str, pl.DataFrame]) -> pl.DataFrame | None:
    tables = [rows.with_columns(reason=pl.lit(reason)) for reason, rows in reasons.items() if len(rows)]
    return pl.concat(tables, how="diagonal_relaxed") if tables else None


def _check_filled(parts: Parts) -> None:
    options = ", ".join(f"{key}={value}" for key, value in parts.how.items() if key != "how")
    for name, part in (("train", parts.train), ("test", parts.test), ("observed", parts.observed)):
        if part is not None and not len(part):
            whole = name == "train" and parts.how["sample"] == 1
            raise DefinitionError(
                f"the split leaves no row for {name}",
                where="split unbiased",
                found=options,
                do="every biased pair is tested: test a share with sample=0.2" if whole else "use other shares",
            )


def of_one_type(*logs: Interactions) -> list[Interactions]:
    """The same logs with ids of one type, or an error that says why there is none.

    >>> one, other = (Interactions.of(pl.DataFrame({"user": [1], "item": [item]})) for item in (1, 2**63))
    >>> of_one_type(one, other)[0].frame.schema["item"]
    UInt64
    """
    first, *others = logs
    for other in others:
        for role in ("user", "item"):
            check_same_kind(first.frame[role], other.frame[role], role=role, where=(first.name, other.name))
    # Integer ids differ in type only where some lie beyond the signed range.
    wide = [role for role in ("user", "item") if any(log.frame.schema[role] == pl.UInt64 for log in logs)]
    return [log.keep(_widen(log, wide)) for log in logs] if wide else list(logs)


def _comparable(*logs: Interactions) -> list[Interactions]:
    """The same logs with ids of one type and items in common, or an error that says why they cannot be compared."""
    logs = tuple(of_one_type(*logs))
    for other in logs[1:]:
        if not other.frame["item"].is_in(logs[0].frame["item"].unique().implode()).any():
            found = (f"{log.name}: item {log.frame['item'][0]!r}, …" for log in (logs[0], other))
            raise DataError(
                "the tables have no item in common",
                where=f"{logs[0].name} and {other.name}",
                found="\n".join(found),
                do="use the same item ids in both tables",
            )
    return list(logs)


def _widen(log: Interactions, roles: list[str]) -> pl.DataFrame:
    for role in roles:
        if log.frame.schema[role] != pl.UInt64 and int(log.frame[role].min()) < 0:  # type: ignore[arg-type]
            raise DataError(
                f"{role} ids are negative here and beyond 2^63 in the other table",
                where=log.name,
                found=f"smallest id {log.frame[role].min()!r}",
                do="write the ids as strings in both tables",
            )
    return log.frame.with_columns(pl.col(role).cast(pl.UInt64) for role in roles)
