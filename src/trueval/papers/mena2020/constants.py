"""Choices of the paper that several figures share, and the systems that stand for those of the paper."""

from __future__ import annotations

LIKED = 4.0  # MovieLens
LIKED_RANDOM = 3.0  # CM100k, and Yahoo! R3 as in the authors' files, where a rating of 3 is relevant
FOLDS, QUICK_FOLDS = 5, 2
MOVIELENS, UNBIASED = "movielens", "unbiased"

# Names as in the paper's figures where the system is the same.
SYSTEMS = {
    "UB": "userknn", "IB": "itemknn", "GPLSA": "plsa", "SVD++": "svdpp", "WRMF": "wrmf", "BPR": "bpr", "EASE": "ease",
    "Pop": "popularity", "Avg": "average", "Rnd": "random", "PureSVD": "puresvd", "MF": "mf_rmse",
    "AllRank": "allrank", "AllRankPop": "allrank_pop",
}  # fmt: skip
PERSONAL = [name for name in SYSTEMS if name not in ("Pop", "Avg", "Rnd")]
QUICK = ("UB", "IB", "Pop", "Avg", "Rnd", "PureSVD", "EASE")
OPTIMAL_P, OPTIMAL_ANTIP, OPTIMAL_TRUE = "optimal P", "optimal antiP", "optimal true"
OPTIMAL = {OPTIMAL_P: "optimal_precision", OPTIMAL_ANTIP: "optimal_antiprecision", OPTIMAL_TRUE: "optimal_true"}

METRICS = ("precision@10", "antiprecision@10", "recall@10", "fallout@10")
P, ANTIP, RECALL, FALLOUT = METRICS
SHORT = {P: "P@10", ANTIP: "antiP@10", RECALL: "recall@10", FALLOUT: "fallout@10"}

OTHER_SYSTEMS = (
    "Other systems: the paper's 16 are those of LibRec. Here UB, IB, GPLSA, SVD++, WRMF, Pop, Avg and Rnd are of the "
    "same kind, EASE stands for SLIM and BPR for WBPR and GBPR; BPMF, EALS, LRMF, PNMF and RSGD are not available, "
    "PureSVD, MF, AllRank and AllRankPop are in their place"
)
OTHER_THAN_THEIRS = "over other systems than the paper's 16"
