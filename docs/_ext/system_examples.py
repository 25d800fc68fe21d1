"""A worked example for each system, on a log of five users and five items (`docs/reference/systems.md`).

Each is text and a doctest that runs when the page is built. What is expected comes from the formula: counted by hand,
computed by NumPy, or equal to another system of which the one shown is a special case.
"""

from __future__ import annotations

# ruff: noqa: E501 — the text of a paragraph is one line, as in other pages that are made

EXAMPLES: dict[str, tuple[str, str]] = {
    "random": (
        "The same seed gives the same scores, and another seed others.",
        """
>>> scores("random[seed=1]") == scores("random[seed=1]"), scores("random[seed=1]") == scores("random[seed=2]")
(True, False)
""",
    ),
    "popularity": (
        "Four users have A, three B, two C and two D, one E. With `threshold=4` the 2s of B and C do not count.",
        """
>>> scores("popularity")
{'A': 4.0, 'B': 3.0, 'C': 2.0, 'D': 2.0, 'E': 1.0}
>>> scores("popularity[threshold=4]")
{'A': 4.0, 'B': 2.0, 'C': 1.0, 'D': 2.0, 'E': 1.0}
""",
    ),
    "average": (
        "The twelve ratings sum to 49, so that the prior is one rating of 49/12. The only rating of E, a 5, is pulled towards it more than the four of A.",
        """
>>> mean = 49 / 12
>>> [round((total + mean) / (n + 1), 3) for total, n in ((18, 4), (11, 3), (6, 2), (9, 2), (5, 1))]
[4.417, 3.771, 3.361, 4.361, 4.542]
>>> scores("average")
{'A': 4.417, 'B': 3.771, 'C': 3.361, 'D': 4.361, 'E': 4.542}
""",
    ),
    "userknn": (
        "Ann has A and B. Bob has both and one more, cosine 2/√(2·3); Cid and Dee share one item of two with her, 1/2; Eve one of three, 1/√(2·3). Bob and Cid have C, Dee has D: with three neighbours, Eve's E gets nothing.",
        """
>>> round(2 / 6**0.5 + 1 / 2, 3)  # C
1.316
>>> scores("userknn[k=3]")["C"], scores("userknn[k=3]")["D"], scores("userknn[k=3]")["E"]
(1.316, 0.5, 0.0)
>>> best("userknn[k=3]")
['C', 'D', 'E']
""",
    ),
    "itemknn": (
        "C is with A in two profiles, of four and two: cosine 2/√(4·2); with B in one, of three and two: 1/√(3·2). For Ann, who has A and B, the two add up.",
        """
>>> round(2 / 8**0.5 + 1 / 6**0.5, 3)  # C
1.115
>>> scores("itemknn")["C"]
1.115
>>> best("itemknn")
['C', 'D', 'E']
""",
    ),
    "plsa": (
        "With one topic, everybody has the same distribution: each item by its share of the twelve rows. With two, the rows of A, B and C that Ann, Bob, Cid and Dee have make up a topic of their own, 3 + 3 + 2 of them, and Ann's list leaves D and E behind.",
        """
>>> [round(n / 12, 3) for n in (4, 3, 2, 2, 1)]
[0.333, 0.25, 0.167, 0.167, 0.083]
>>> scores("plsa[factors=1]")
{'A': 0.333, 'B': 0.25, 'C': 0.167, 'D': 0.167, 'E': 0.083}
>>> [n / 8 for n in (3, 3, 2)]
[0.375, 0.375, 0.25]
>>> scores("plsa[factors=2,seed=0]")
{'A': 0.375, 'B': 0.375, 'C': 0.25, 'D': 0.0, 'E': 0.0}
""",
    ),
    "puresvd": (
        "The two largest singular values of the ratings, with 0 for what is missing, as NumPy finds them.",
        """
>>> left, values, right = np.linalg.svd(np.nan_to_num(ratings))
>>> by_hand = left[:, :2] * values[:2] @ right[:2]
>>> np.allclose(matrix("puresvd[factors=2]"), by_hand, atol=1e-3)
True
>>> best("puresvd[factors=2]")
['C', 'E', 'D']
""",
    ),
    "mf_rmse": (
        "With enough factors and hardly any regularisation, the ratings that were made are predicted as they are. Of the others it only knows that high ratings are usual: Ann gets D and E, which nobody like her has rated, before C.",
        """
>>> predicted = matrix("mf_rmse[factors=5,regularization=1e-6,sweeps=200,seed=0]")
>>> np.abs(predicted - ratings)[rated].max().round(2)
np.float64(0.0)
>>> best("mf_rmse[factors=5,regularization=1e-6,sweeps=200,seed=0]")
['D', 'E', 'C']
""",
    ),
    "allrank": (
        "Where a missing rating is imputed as 0 and weighs as much as an observed one, and nothing is regularised, this is PureSVD.",
        """
>>> as_svd = matrix("allrank[factors=2,r_m=0,w_m=1,regularization=1e-9,sweeps=500,seed=0]")
>>> np.allclose(as_svd, matrix("puresvd[factors=2]"), atol=0.01)
True
>>> best("allrank[factors=2,seed=0]")
['C', 'E', 'D']
""",
    ),
    "allrank_pop": (
        "With an exponent of 0, popularity is ignored, and this is AllRank; with 1, a missing rating of A weighs more than one of E.",
        """
>>> np.allclose(matrix("allrank_pop[factors=2,beta_w=0,seed=0]"), matrix("allrank[factors=2,seed=0]"))
True
>>> best("allrank_pop[factors=2,beta_w=1,seed=0]")
['C', 'E', 'D']
""",
    ),
    "wrmf": (
        "Where a row is trusted no more than a missing one (`alpha=1`) and nothing is regularised, the best factors are those of the singular value decomposition of the zeros and ones.",
        """
>>> left, values, right = np.linalg.svd(rated.astype(float))
>>> by_hand = left[:, :2] * values[:2] @ right[:2]
>>> np.allclose(matrix("wrmf[factors=2,alpha=1,regularization=0,sweeps=500,seed=0]"), by_hand, atol=0.01)
True
>>> best("wrmf[factors=2,alpha=1,regularization=0,sweeps=500,seed=0]")
['C', 'D', 'E']
""",
    ),
    "bpr": (
        "What it is trained for: after enough epochs, all that a user has scores above all that the user has not.",
        """
>>> learned = matrix("bpr[factors=5,learning_rate=0.1,epochs=2000,seed=0]")
>>> all(row[own].min() > row[~own].max() for row, own in zip(learned, rated))
True
""",
    ),
    "ease": (
        "The closed form in NumPy, for λ = 1.",
        """
>>> X = rated.astype(float)
>>> P = np.linalg.inv(X.T @ X + 1 * np.eye(5))
>>> B = -P / np.diag(P)
>>> np.fill_diagonal(B, 0)
>>> np.allclose(matrix("ease[regularization=1]"), X @ B, atol=1e-5)
True
>>> best("ease[regularization=1]")
['C', 'D', 'E']
""",
    ),
    "svdpp": (
        "After many epochs without regularisation, the ratings that were made are predicted as they are.",
        """
>>> predicted = matrix("svdpp[factors=5,learning_rate=0.05,regularization=0,epochs=2000,seed=0]")
>>> np.abs(predicted - ratings)[rated].max().round(2)
np.float64(0.0)
""",
    ),
    "optimal_precision": (
        "From a rating of 4 on: A is liked by four and one user lacks it, 4/1; B is liked by two and two lack it, 2/2; C by one of three who could, 1/3; D 2/3; E 1/4.",
        """
>>> scores("optimal_precision[threshold=4]")
{'A': 4.0, 'B': 1.0, 'C': 0.333, 'D': 0.667, 'E': 0.25}
""",
    ),
    "optimal_antiprecision": (
        "One user dislikes B, and two lack it: −1/2. One dislikes C, and three lack it: −1/3. Nobody dislikes the others.",
        """
>>> {item: score + 0.0 for item, score in scores("optimal_antiprecision[threshold=4]").items()}
{'A': 0.0, 'B': -0.5, 'C': -0.333, 'D': 0.0, 'E': 0.0}
""",
    ),
    "optimal_true": (
        "In the test part, Dee, the one user who lacks A, likes it: 1/1. Of three who lack C, Ann and Eve like it: 2/3. Of three who lack D, Bob does not like it: 0/3.",
        """
>>> test = tv.Interactions.of(pl.DataFrame({
...     "user": ["dee", "ann", "eve", "bob"], "item": ["A", "C", "C", "D"], "value": [4.0, 5.0, 4.0, 1.0]}))
>>> best_possible = tv.make_system("optimal_true", test=test, threshold=4)
>>> scores(best_possible)
{'A': 1.0, 'B': 0.0, 'C': 0.667, 'D': 0.0, 'E': 0.0}
""",
    ),
}


def example(system: str) -> str:
    """Text and a block of code, for the section of a system."""
    text, lines = EXAMPLES[system]
    return f"{text}\n\n```python\n{lines.strip()}\n```\n"
