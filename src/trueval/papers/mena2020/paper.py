"""The paper: its data and its figures."""

from __future__ import annotations

from functools import partial

from trueval.papers.data_checks import check_ratings, world_like_movielens
from trueval.papers.mena2020.condensed_and_full import condensed_and_full
from trueval.papers.mena2020.constants import LIKED, MOVIELENS, OTHER_SYSTEMS, UNBIASED
from trueval.papers.mena2020.data import check_unbiased, read_movielens, read_unbiased, world_like_cm100k
from trueval.papers.mena2020.item_rankings import components, curves, pairs
from trueval.papers.mena2020.observed_and_true import agreement, both_sides, opposed
from trueval.papers.mena2020.rated_and_relevant import rated_and_relevant, sizes
from trueval.papers.mena2020.toy_examples import toy_examples
from trueval.papers.registry import DataSlot, Paper

PAPER = Paper(
    "mena2020",
    "Agreement and Disagreement between True and False-Positive Metrics in Recommender Systems Evaluation",
    "E. Mena-Maldonado, R. Cañamares, P. Castells, Y. Ren, M. Sanderson. SIGIR 2020",
    {
        MOVIELENS: DataSlot(
            "MovieLens 1M", read_movielens, world_like_movielens, partial(check_ratings, threshold=LIKED)
        ),
        UNBIASED: DataSlot("CM100k (or Yahoo! R3)", read_unbiased, world_like_cm100k, check_unbiased),
    },
    (
        condensed_and_full,
        toy_examples,
        pairs,
        curves,
        components,
        sizes,
        both_sides,
        agreement,
        rated_and_relevant,
        opposed,
    ),
    (
        f"{OTHER_SYSTEMS}.",
        "As the authors compute: means over users with a test rating; on CM100k only items with a train rating are "
        "ranked, and users without one get no list and count as 0; recall is 0 where a user has nothing relevant to "
        "find.",
        "Yahoo! R3 can stand in for CM100k (--data unbiased=FOLDER). Relevant are ratings from 3 on: the paper says 4 "
        "for Yahoo! R3, but the authors' files map 3 to relevant.",
    ),
    experiments=("mena2020-movielens",),
)
