"""The paper: its data and its figures."""

from __future__ import annotations

from functools import partial

from trueval.papers.bellogin2017.bounds import bounds
from trueval.papers.bellogin2017.drawn_splits import drawn_splits
from trueval.papers.bellogin2017.evaluation import HOLDOUT, LIKED, UNIFORM
from trueval.papers.bellogin2017.liked_ratio import liked_ratio
from trueval.papers.bellogin2017.other_metrics import other_metrics
from trueval.papers.bellogin2017.printed_numbers import printed_numbers
from trueval.papers.bellogin2017.remedies import remedies
from trueval.papers.bellogin2017.settings_compared import settings_compared
from trueval.papers.bellogin2017.skewness import skewness
from trueval.papers.bellogin2017.sparsity_bias import sparsity_bias
from trueval.papers.data_checks import check_ratings, read_ratings, world_like_movielens
from trueval.papers.registry import DataSlot, Paper

PAPER = Paper(
    "bellogin2017",
    "Statistical biases in Information Retrieval metrics for recommender systems",
    "A. Bellogín, P. Castells, I. Cantador. Information Retrieval Journal 20, 2017",
    {"ratings": DataSlot("MovieLens 1M", read_ratings, world_like_movielens, partial(check_ratings, threshold=LIKED))},
    (
        printed_numbers,
        settings_compared,
        bounds,
        sparsity_bias,
        skewness,
        drawn_splits,
        liked_ratio,
        remedies,
        other_metrics,
    ),
    experiments=(HOLDOUT, UNIFORM),
)
