"""Figure 2: three toy examples of two items and ten users."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from trueval.audit.item_pair_counts import scores_of
from trueval.audit.item_pairs import item_pairs
from trueval.audit.item_ratings import ItemRatings
from trueval.papers.record import Figure, Statement, claim, number
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import rounded

_TITLE = "Toy examples: when the two optimal rankings agree"
_USERS = 10


class _Example(NamedTuple):
    """Train ratings and likes of the items a and b; the test ratings are as many and alike."""

    ratings: tuple[int, int]
    liked: tuple[int, int]
    disagree: bool
    steepness: dict[str, float]  # as printed


_EXAMPLES = {
    1: _Example((5, 2), (3, 1), True, {"odds of p(train)": 0.75, "p(rel|train)": 0.16}),
    2: _Example((5, 2), (1, 0), True, {"odds of p(train)": 0.75, "p(rel|train)": 1.0, "p(¬rel|train)": 0.2}),
    3: _Example((4, 3), (3, 1), False, {}),
}


@figure("2", _TITLE)
def toy_examples(setting: Setting) -> Figure:
    """Probabilities, steepness and optimal rankings of each example; P@1 and antiP@1 over its target users."""
    rows, statements = [], []
    for place, example in _EXAMPLES.items():
        counted = ItemRatings.of_counts(np.array(example.ratings), np.array(example.liked), users=_USERS)
        scores = scores_of(counted)
        disagree = item_pairs(counted).disagree.share == 1
        odds = scores.popularity / (1 - scores.popularity)
        steep = {
            "odds of p(train)": _steepness(odds), "p(rel|train)": _steepness(scores.average),
            "p(¬rel|train)": _steepness(1 - scores.average),
        }  # fmt: skip
        for item, name in enumerate("ab"):
            rows.append({
                "example": place, "item": name, "p_train": scores.popularity[item], "odds": odds[item],
                "p_rel": scores.average[item], "phi_p": scores.phi_p[item], "phi_antip": scores.phi_antip[item],
                "precision_if_first": example.liked[item] / max(example.ratings),
                "antiprecision_if_first": (example.ratings[item] - example.liked[item]) / max(example.ratings),
            })  # fmt: skip
        statements += _statements(place, example, disagree, steep)
    table = pl.DataFrame(rows)
    statements.append(_example_one(table))
    return Figure("2", _TITLE, {"mena2020-2": table}, {}, tuple(statements))


def _steepness(values: np.ndarray) -> float:
    return float(abs(values[0] - values[1]) / values.max())


def _statements(place: int, example: _Example, disagree: bool, steep: dict[str, float]) -> list[Statement]:
    word = "disagree" if example.disagree else "agree"
    evidence = "steepness " + ", ".join(f"{name} {rounded(value)}" for name, value in steep.items())
    made = [
        claim("2", f"example {place}: precision and antiprecision {word}", holds=disagree == example.disagree,
              evidence=evidence)
    ]  # fmt: skip
    return made + [
        number("2", f"example {place}: steepness of {name}", published=value, here=steep[name], tolerance=0.01,
               digits=2,
               note="0.1667, cut off in print" if value == 0.16 else "")
        for name, value in example.steepness.items()
    ]  # fmt: skip


def _example_one(table: pl.DataFrame) -> Statement:
    return number(
        "2", "example 1: p(rel|train,a)", published=0.6, here=table.filter(example=1, item="a")["p_rel"].item(),
        tolerance=1e-9,
    )  # fmt: skip
