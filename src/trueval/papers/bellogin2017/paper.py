"""The paper: its data and its figures."""

from __future__ import annotations

from functools import partial

from trueval.papers.bellogin2017.constants import LIKED
from trueval.papers.bellogin2017.liked_ratio import liked_ratio
from trueval.papers.data_checks import check_ratings, read_ratings, world_like_movielens
from trueval.papers.registry import DataSlot, Paper

PAPER = Paper(
    "bellogin2017",
    "Statistical biases in Information Retrieval metrics for recommender systems",
    "A. Bellogín, P. Castells, I. Cantador. Information Retrieval Journal 20, 2017",
    {"ratings": DataSlot("MovieLens 1M", read_ratings, world_like_movielens, partial(check_ratings, threshold=LIKED))},
    (liked_ratio,),
)
