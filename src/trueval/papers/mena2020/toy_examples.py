"""Figure 2: three toy examples of two items and ten users."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from trueval.api import evaluate_run
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
    """Train ratings and likes of the items a and b, and what is printed; the test ratings are as many and alike."""

    ratings: tuple[int, int]
    liked: tuple[int, int]
    disagree: bool
    values: tuple[float, float, float, float]  # P@1 and antiP@1 of the ranking (a, b), then of (b, a)
    steepness: dict[str, float]


_ODDS, _REL, _NREL = "odds of p(train)", "p(rel|train)", "p(¬rel|train)"
_EXAMPLES = {
    1: _Example((5, 2), (3, 1), True, (0.6, 0.4, 0.2, 0.2), {_ODDS: 0.75, _REL: 0.16}),
    2: _Example((5, 2), (1, 0), True, (0.2, 0.8, 0.0, 0.4), {_ODDS: 0.75, _REL: 1.0, _NREL: 0.2}),
    3: _Example((4, 3), (3, 1), False, (0.6, 0.2, 0.2, 0.4), {}),
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
            _ODDS: _steepness(odds), _REL: _steepness(scores.average), _NREL: _steepness(1 - scores.average),
        }  # fmt: skip
        measured = _measured(example)
        for item, name in enumerate("ab"):
            rows.append({
                "example": place, "item": name, "p_train": scores.popularity[item], "odds": odds[item],
                "p_rel": scores.average[item], "phi_p": scores.phi_p[item], "phi_antip": scores.phi_antip[item],
                "precision_if_first": measured[2 * item], "antiprecision_if_first": measured[2 * item + 1],
            })  # fmt: skip
        statements += _statements(place, example, disagree, steep)
        statements += _values(place, example, measured)
    table = pl.DataFrame(rows)
    statements.append(_example_one(table))
    return Figure("2", _TITLE, {"mena2020-2": table}, {}, tuple(statements))


def _measured(example: _Example) -> tuple[float, ...]:
    """P@1 and antiP@1 of the rankings (a, b) and (b, a), over the users with a test rating."""
    test = [
        {"user": user, "item": name, "value": float(user < example.liked[item])}
        for item, name in enumerate("ab") for user in range(example.ratings[item])
    ]  # fmt: skip
    runs = {
        order: pl.DataFrame([{"user": u, "item": i, "rank": r} for u in range(5) for r, i in enumerate(order, 1)])
        for order in ("ab", "ba")
    }
    metrics = ["precision@1", "antiprecision@1"]
    found = evaluate_run(runs, pl.DataFrame(test), metrics=metrics, threshold=1, population="judged", interval="none")
    return tuple(found[order, metric].value for order in runs for metric in metrics)


def _values(place: int, example: _Example, measured: tuple[float, ...]) -> list[Statement]:
    note = (
        "the text averages over users with a test rating, four of five; what is printed is divided by five"
        if place == 3 else ""
    )  # fmt: skip
    names = [f"{metric} of ({', '.join(order)})" for order in ("ab", "ba") for metric in ("P@1", "antiP@1")]
    return [
        number("2", f"example {place}: {name}", published=value, here=here, tolerance=0.001, digits=2, note=note)
        for name, value, here in zip(names, example.values, measured)
    ]


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
        tolerance=0.001,
    )  # fmt: skip
