"""The paper: its data and its figures."""

from __future__ import annotations

from functools import partial

from trueval.papers.data_checks import check_ratings, read_ratings, world_like_movielens
from trueval.papers.registry import DataSlot, Paper
from trueval.papers.steck2011.evaluation import FILE, LIKED
from trueval.papers.steck2011.popularity_weights import popularity_weights
from trueval.papers.steck2011.recall_curves import recall_curves, stratified_recall
from trueval.papers.steck2011.shown_items import popularity_and_coverage, shown_by_rank
from trueval.papers.steck2011.tuning import tuning
from trueval.papers.steck2011.user_groups import user_groups
from trueval.papers.steck2011.user_study import user_study

PAPER = Paper(
    "steck2011",
    "Item popularity and recommendation accuracy",
    "H. Steck. ACM Conference on Recommender Systems (RecSys), 2011",
    {"ratings": DataSlot("MovieLens 1M", read_ratings, world_like_movielens, partial(check_ratings, threshold=LIKED))},
    (
        tuning,
        recall_curves,
        stratified_recall,
        popularity_weights,
        popularity_and_coverage,
        shown_by_rank,
        user_groups,
        user_study,
    ),
    about=(
        "The paper's experiments are on Netflix, which is not public any more; according to it, those on MovieLens are "
        "qualitatively identical. Its numbers are therefore not compared, its claims are.",
    ),
    experiments=(FILE,),
)
