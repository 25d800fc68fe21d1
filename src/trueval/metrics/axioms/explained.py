"""Why verdicts differ from the Table 1 of the paper: what each difference rests on, with the simplest example known."""

from __future__ import annotations

from dataclasses import dataclass

from trueval.metrics.axioms.ranking_pairs import RankingPair, Scene, Trial


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a difference is, why, and a trial that shows it (where there is a simpler one than random worlds have)."""

    kind: str
    why: str
    example: Trial | None = None


# Two items, nothing else: the two aspects of the first weigh .51 together, more than the .49 of the second.
_TOGETHER = Trial(
    Scene({"a+b": ("a", "b"), "c": ("c",)}, {"a+b": 5.0, "c": 5.0}, {"a": 0.26, "b": 0.25, "c": 0.49}),
    (RankingPair(("a+b", "c"), ("c", "a+b")),),
)

# The first and the third change places; the second has the aspect that weighs more.
_BETWEEN = Trial(
    Scene({"b1": ("b",), "b2": ("b",), "a1": ("a",)}, dict.fromkeys(("b1", "b2", "a1"), 5.0), {"a": 0.49, "b": 0.51}),
    (RankingPair(("b1", "b2", "a1"), ("a1", "b2", "b1")),),
)

# By the name of the metric and the axiom.
EXPLANATIONS: dict[tuple[str, str], Explanation] = {
    ("alpha_ndcg", "TopHeavComp"): Explanation(
        "depends on a parameter that the paper does not name",
        "m items alike gain g·(1-x)^(j-1), x = α·r/r_max, so that they beat one at the top where "
        "Σ (1-x)^(j-1)/log2(m+j+1) over j = 1 … m exceeds 1 for some m: for x < 0.2564 (m = 6). The paper names no "
        "α for α-nDCG. What it prints for NRBP and RBU holds at its own parameters and fails at others, too",
    ),
    ("abndcg", "TopHeavComp"): Explanation(
        "genuine at the paper's β = 0.5",
        "the same sum with x = β·r/r_max: for items with one aspect that is all of the user's interest it takes "
        "x < 0.2564, and the best rating has x = 0.5",
    ),
    ("eu", "MoreAsp"): Explanation(
        "genuine under the printed formula",
        "the axiom subtracts the aspect's share among the items above from the user's weight; the metric multiplies "
        "the weight by what each item leaves of it. The two orders of remaining interest differ",
    ),
    ("rbu", "AspRel"): Explanation(
        "only through the maximum that is taken aspect by aspect",
        "s = (2^r - 1) / 2^(highest rating in the aspect), so that an equal rating satisfies more in an aspect without "
        "a higher one. With one maximum for all aspects, equally rated items are in the order of the weights",
    ),
    ("rbu", "MoreAsp"): Explanation(
        "genuine",
        "the axiom looks at the two items alone. With another item of the same aspect between them, the aspect that "
        "weighs less satisfies more when it comes first: both are then satisfied by the second place. All have the "
        "highest rating, so it makes no difference which maximum is taken",
        _BETWEEN,
    ),
    ("abndcg", "MoreAsp"): Explanation(
        "genuine",
        "an item pleases by any of its aspects, 1 - Π(1 - P·w_a), which is less than P·Σ w_a: two aspects that weigh "
        "more together please less often than one that weighs almost as much (DCG 0.3933 < 0.3956)",
        _TOGETHER,
    ),
}
