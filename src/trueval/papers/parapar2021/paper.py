"""The paper: its data and its figures."""

from __future__ import annotations

from trueval.data.aspects import aspect_column
from trueval.data.interactions import Interactions
from trueval.errors import DataError
from trueval.papers.data_checks import check_ratings, read_ratings
from trueval.papers.parapar2021.axioms import axioms
from trueval.papers.parapar2021.discriminative_power import discriminative_power
from trueval.papers.parapar2021.incompleteness import incompleteness
from trueval.papers.parapar2021.rank_correlation import rank_correlation
from trueval.papers.parapar2021.swaps import swaps
from trueval.papers.registry import DataSlot, Paper
from trueval.simulation.simulate import simulate


def world_with_genres(quick: bool, seed: int) -> Interactions:
    """A generated world with as many users, items, ratings and genres as MovieLens 1M; smaller if `quick`."""
    size = {"users": 500, "items": 400, "ratings": 50_000} if quick else {
        "users": 6040, "items": 3706, "ratings": 1_000_209}  # fmt: skip
    world = simulate("world", seed=seed, genres=18, **size)
    return world.log.keep(world.log.frame, name="a generated world")


def check_genres(log: Interactions) -> None:
    """Refuse a log without ratings, or without the genres of its items."""
    check_ratings(log, threshold=4, items=50)
    if log.items is None or aspect_column(log.items.columns) is None:
        raise DataError(
            "the paper needs the genres of items", where=log.name,
            found="no table of items" if log.items is None else "columns " + ", ".join(log.items.columns),
            do="give a data set with genres as a folder, for example ml-1m",
        )  # fmt: skip


PAPER = Paper(
    "parapar2021",
    "Towards Unified Metrics for Accuracy and Diversity for Recommender Systems",
    "J. Parapar, F. Radlinski. RecSys 2021",
    {"ratings": DataSlot("MovieLens with genres", read_ratings, world_with_genres, check_genres)},
    (axioms, swaps, rank_correlation, discriminative_power, incompleteness),
    (
        "The paper used MovieLens 20M with 19 genres; numbers are not printed in it, so that its claims are checked.",
        "Relevance is the rating: every rated test item counts, by its rating.",
    ),
)
