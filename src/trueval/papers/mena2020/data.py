"""The data of the paper: a biased log with ratings of items chosen at random, and its folds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.data.interactions import Interactions
from trueval.data.read import read_pair
from trueval.errors import DataError, DefinitionError
from trueval.papers.data_checks import check_ratings, read_ratings
from trueval.papers.mena2020.constants import FOLDS, LIKED, LIKED_RANDOM, QUICK_FOLDS, UNBIASED
from trueval.papers.setting import Setting
from trueval.simulation.simulate import simulate
from trueval.splits import split
from trueval.splits.parts import Parts
from trueval.splits.row_hashing import chain, coin

_FLAGS = ("biased", "random")


def read_movielens(source: Any) -> Interactions:
    """The log of the first slot; a data set that belongs to the other is not taken for it."""
    if isinstance(source, str | Path):
        try:
            _, random = read_pair(source)
        except DefinitionError:  # ratings of one kind, as they should be
            pass
        else:
            raise DataError(
                "the first data set of the paper is MovieLens 1M", where=str(source),
                found=f"{random.name}: ratings of items drawn at random", do=f"--data {UNBIASED}={source}",
            )  # fmt: skip
    return read_ratings(source)


def read_unbiased(source: Any) -> Interactions:
    """One log of both kinds of ratings: `biased` marks those that users chose to give, `random` those of items drawn.

    In CM100k every rating is of an item drawn at random, and those of known music are also what a system would have
    observed; in Yahoo! R3 the two are separate.
    """
    if isinstance(source, Interactions) and set(_FLAGS) <= set(source.frame.columns):
        return source
    try:
        biased, random = read_pair(source)
    except DefinitionError as problem:
        raise DataError(
            "the paper needs ratings of items drawn at random, besides those that users chose to rate",
            where=f"--data {UNBIASED}={source}" if isinstance(source, str | Path) else UNBIASED,
            found="ratings of one kind", do="give the folder of CM100k or Yahoo! R3, as it is distributed",
        ) from problem  # fmt: skip
    if "known" in random.frame.columns:
        frame = random.frame.with_columns(biased=pl.col("known") == 1, random=pl.lit(True))
    else:
        columns = ["user", "item", "value"]
        frame = pl.concat([
            biased.frame.select(columns).with_columns(biased=pl.lit(True), random=pl.lit(False)),
            random.frame.select(columns).with_columns(biased=pl.lit(False), random=pl.lit(True)),
        ])  # fmt: skip
    return Interactions.of(frame, name=random.name.removesuffix(" random"))


def world_like_cm100k(quick: bool, seed: int) -> Interactions:
    """A generated world of the shape of CM100k: users rate items drawn at random, and knew some of them before."""
    size = {"users": 400, "items": 300, "ratings": 16_000} if quick else {
        "users": 1054, "items": 1084, "ratings": 122_000}  # fmt: skip
    world = simulate("world", seed=seed, **size)
    users, items = np.arange(size["users"]), np.arange(size["items"])
    pairs = np.repeat(users, len(items)), np.tile(items, len(users))
    asked = coin(chain(seed, "asked", *pairs)) < (0.3 if quick else 0.09)
    row, column = np.divmod(np.flatnonzero(asked), len(items))
    ids = world.users.values.to_list(), world.items.values.to_list()
    values = np.asarray(world.ratings(*ids))[row, column]
    frame = pl.DataFrame({
        "user": world.users.decode(row), "item": world.items.decode(column), "value": values.astype(np.float64),
    })  # fmt: skip
    known = world.log.frame.select("user", "item").unique().with_columns(biased=pl.lit(True))
    frame = frame.join(known, on=["user", "item"], how="left", maintain_order="left")
    flags = {"biased": pl.col("biased").fill_null(False), "random": pl.lit(True)}
    return Interactions.of(frame.with_columns(**flags), name="a generated world")


def check_unbiased(log: Interactions) -> None:
    """Refuse data without likes and dislikes, or without one of the two kinds of ratings."""
    check_ratings(log, threshold=LIKED_RANDOM, items=50)
    for flag in _FLAGS:
        if not log.frame[flag].any():
            raise DataError(
                f"the paper needs {flag} ratings", where=log.name, found="none",
                do="give CM100k or Yahoo! R3 in their original format",
            )  # fmt: skip


def threshold_of(setting: Setting) -> float:
    """From where on ratings of the unbiased data are relevant: generated ones have the scale of MovieLens."""
    return LIKED if setting.generated[UNBIASED] else LIKED_RANDOM


def one_survey(log: Interactions) -> bool:
    """Whether all biased ratings are among the random ones, as in CM100k."""
    return bool(log.frame.select((~pl.col("biased") | pl.col("random")).all()).item())


def folds(setting: Setting, log: Interactions) -> Iterator[Parts]:
    """Parts of each fold: `test` is the unbiased test, `observed` the biased one, train is biased.

    Where all biased ratings are among the random ones, the folds are over all ratings: the fold is the unbiased test,
    its biased ratings are the observed one, and the biased ratings outside it are the train part. Otherwise the folds
    are over the biased ratings, and all random ones are the unbiased test.
    """
    number = QUICK_FOLDS if setting.quick else FOLDS
    survey = one_survey(log)
    whole = log if survey else log.keep(log.frame.filter("biased"))
    made = split(whole, "kfold", n=FOLDS, seed=setting.seed)
    assert isinstance(made, list)
    for fold in made[:number]:
        train = fold.train.frame.filter("biased")
        true = fold.test.frame if survey else _unseen(log.frame.filter("random"), train)
        yield Parts(
            train=log.keep(train, name=f"{log.name}, train"),
            test=log.keep(true, name=f"{log.name}, unbiased test"),
            observed=log.keep(fold.test.frame.filter("biased"), name=f"{log.name}, observed test"),
            how={"how": "unbiased folds", "folds": FOLDS, "seed": setting.seed},
        )


def _unseen(frame: pl.DataFrame, train: pl.DataFrame) -> pl.DataFrame:
    return frame.join(train.select("user", "item"), on=["user", "item"], how="anti", maintain_order="left")
