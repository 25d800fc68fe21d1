"""Which of two systems people prefer: choices of participants, strengths of systems, and tests of every two."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from trueval.errors import DataError
from trueval.online.user_study.rankings import Rankings
from trueval.statistics.binomial import binomial_p
from trueval.statistics.bradley_terry import Strengths, fit_strengths, strength_covariance
from trueval.statistics.multiple_comparisons import corrected
from trueval.statistics.resampling import in_one_order, resample_sums
from trueval.statistics.student import student_interval

LEAST = 2  # participants whose resamples vary


@dataclass(frozen=True, slots=True)
class Choices:
    """How often each participant preferred one system to another, and found no difference: people by systems twice."""

    participants: tuple[str, ...]
    systems: tuple[str, ...]
    wins: np.ndarray
    ties: np.ndarray

    def only(self, keep: np.ndarray) -> Choices:
        """Of some participants."""
        people = tuple(name for name, kept in zip(self.participants, keep) if kept)
        return Choices(people, self.systems, self.wins[keep], self.ties[keep])


def choices_in_rankings(rankings: Rankings) -> Choices:
    """A ranking says of every two systems in it which is preferred."""
    return Choices(
        rankings.participants, rankings.systems, rankings.above().astype(float), rankings.equal().astype(float)
    )


def choices_between_two(table: pl.DataFrame, *, where: str = "pairs") -> Choices:
    """Choices from a table with participant, left, right and answer (left, right or none).

    >>> frame = pl.DataFrame({"participant": ["p"], "left": ["a"], "right": ["b"], "answer": ["right"], "task": [1]})
    >>> choices_between_two(frame).wins[0].tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    own = _unplanted(table)
    systems = tuple(sorted({*own["left"].to_list(), *own["right"].to_list()}))
    same = own.filter(pl.col("left") == pl.col("right"))
    if len(same) or len(systems) < 2:
        found = f"{same['left'][0]} on both sides" if len(same) else ", ".join(systems) or "none"
        raise DataError(
            "a choice is between two different systems", where=where, found=found,
            do='write "same" in the column check where a list was planted twice',
        )  # fmt: skip
    own = own.drop_nulls("answer")
    if not len(own):
        raise DataError("nobody chose between two lists", where=f"{where}, column answer", found="no answer at all")
    people = tuple(sorted(own["participant"].unique().to_list()))
    person = np.searchsorted(people, own["participant"].to_numpy())
    left, right = (np.searchsorted(systems, own[side].to_numpy()) for side in ("left", "right"))
    answer = own["answer"].to_numpy()
    wins, ties = np.zeros((2, len(people), len(systems), len(systems)))
    for chosen, one, other in (("left", left, right), ("right", right, left)):
        at = answer == chosen
        np.add.at(wins, (person[at], one[at], other[at]), 1)
    at = answer == "none"
    for one, other in ((left, right), (right, left)):
        np.add.at(ties, (person[at], one[at], other[at]), 1)
    return Choices(people, systems, wins, ties)


def answered_pairs(table: pl.DataFrame, shown: pl.DataFrame | None = None) -> tuple[np.ndarray, list[str]]:
    """Of which pairs participants left out an answer: 1 answered, 0 not, NaN not shown to them; and the pairs' names.

    An answer is left out where its row is empty, or where the table of what was `shown` has the two lists of a task and
    there is no answer to it: its participant left there.

    >>> rows = {"participant": [*"pq"], "task": 1, "left": ["a", "b"], "right": ["b", "a"], "answer": ["left", None]}
    >>> answered_pairs(pl.DataFrame(rows))[0].tolist()
    [[1.0], [0.0]]
    """
    own = _unplanted(table)
    asked = own.select("participant", "task", "left", "right", pl.col("answer").is_not_null())
    if shown is not None and "form" in shown.columns:
        lists = _unplanted(shown).filter(form="pair").group_by("participant", "task").agg(pl.col("system").sort())
        lists = lists.filter(pl.col("system").list.len() == 2).join(own, on=["participant", "task"], how="anti")
        first, second = (pl.col("system").list.get(place) for place in (0, 1))
        left = lists.select("participant", "task", left=first, right=second, answer=pl.lit(value=False))
        asked = pl.concat([asked, left])
    pair = pl.concat_list("left", "right").list.sort().list.join(" and ")
    cells = asked.group_by("participant", pair.alias("pair")).agg(pl.col("answer").any())
    people, pairs = (sorted(cells[name].unique().to_list()) for name in ("participant", "pair"))
    answered = np.full((len(people), len(pairs)), np.nan)
    at = (np.searchsorted(own, cells[name].to_numpy()) for own, name in ((people, "participant"), (pairs, "pair")))
    answered[tuple(at)] = cells["answer"].cast(pl.Float64).to_numpy()
    return answered, pairs


def _unplanted(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("check").is_null()) if "check" in table.columns else table


@dataclass(frozen=True, slots=True)
class Strength:
    """The logarithm of a system's strength, 0 being the mean of all, and what it stands for in choices.

    `preferred` is the model's chance of being preferred to a system of mean strength, where a difference is seen.
    """

    system: str
    strength: float
    low: float
    high: float

    @property
    def preferred(self) -> float:
        """Chance of being preferred to a system of mean strength by one who sees a difference."""
        return float(1 / (1 + np.exp(-self.strength)))

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "preferred": self.preferred}


class StrengthTable(NamedTuple):
    """Strengths of all systems, and the covariance of their errors."""

    systems: tuple[Strength, ...]
    covariance: np.ndarray
    note: str = ""


NO_STRENGTHS = StrengthTable((), np.empty((0, 0)))


def strengths(choices: Choices, *, level: float, resamples: int, seed: int) -> StrengthTable:
    """Strengths by the model of Bradley and Terry with Davidson's ties.

    Intervals are Student's t with the standard error over resamples of participants, or that of the model where it is
    larger: who is never preferred is so in all resamples, and still not known to be infinitely weak.
    """
    people, number = choices.wins.shape[:2]
    if not _connected((choices.wins + choices.ties).sum(axis=0)):
        return StrengthTable((), np.empty((0, 0)), "no strengths: some systems were never compared with the others")
    both = in_one_order(np.concatenate([choices.wins.reshape(people, -1), choices.ties.reshape(people, -1)], axis=1))
    whole = both.sum(axis=0, keepdims=True)
    fit = _fit(whole, number)
    fitted = fit.log_strength[0]
    if people < LEAST or not resamples:
        made = (Strength(name, float(one), np.nan, np.nan) for name, one in zip(choices.systems, fitted))
        return StrengthTable(tuple(made), np.zeros((number, number)), "no intervals: too few participants")
    (sums,) = resample_sums([(None, both)], people, seed=seed, resamples=resamples)
    wins, ties = _split(whole, number)
    covariance = _at_least(np.cov(_fit(sums, number).log_strength.T), strength_covariance(wins, ties, fit)[0])
    errors = np.sqrt(np.diag(covariance))
    # percentiles lean outwards for systems that nearly everybody prefers, or nobody; Student's t covers as it should
    found = [
        Strength(name, float(one), *student_interval(float(one), float(error), freedom=people - 1, level=level))
        for name, one, error in zip(choices.systems, fitted, errors)
    ]
    return StrengthTable(tuple(found), covariance)


def _split(sums: np.ndarray, number: int) -> np.ndarray:
    """Wins and ties, the one after the other."""
    return np.rint(sums).reshape(len(sums), 2, number, number).transpose(1, 0, 2, 3)


def _fit(sums: np.ndarray, number: int) -> Strengths:
    wins, ties = _split(sums, number)
    return fit_strengths(wins, ties)


def _at_least(covariance: np.ndarray, least: np.ndarray) -> np.ndarray:
    """The covariance, each error made as large as in another one where it is smaller."""
    own, other = np.diag(covariance), np.diag(least)
    larger = np.sqrt(np.maximum(own, other) / np.where(own > 0, own, 1.0))
    grown = covariance * np.outer(larger, larger)
    np.fill_diagonal(grown, np.maximum(own, other))
    return grown


def _connected(together: np.ndarray) -> bool:
    """Whether every system is linked to every other by comparisons."""
    linked = (together + together.T + np.eye(len(together))) > 0
    for _ in range(len(together).bit_length()):
        linked = (linked.astype(float) @ linked) > 0
    return bool(linked.all())


@dataclass(frozen=True, slots=True)
class Preference:
    """Two systems: how many participants prefer the one, the other, or neither, and the exact sign test of it."""

    one: str
    other: str
    prefer_one: int
    neither: int
    prefer_other: int
    answers_one: int  # answers, of which a participant may have given several
    answers_neither: int
    answers_other: int
    p: float
    p_corrected: float
    verdict: str  # better or worse (one than other), or not shown

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def preferences(choices: Choices, *, level: float) -> list[Preference]:
    """Every two systems that somebody compared, with Holm's correction over all of them.

    A participant prefers the system that they chose more often; who chose both equally often, or saw no difference,
    is left out of the test, which is the exact sign test.
    """
    wins = choices.wins
    lean = np.sign(wins - wins.transpose(0, 2, 1))
    together = (wins + wins.transpose(0, 2, 1) + choices.ties) > 0
    pairs = [(i, j) for i, j in combinations(range(len(choices.systems)), 2) if together[:, i, j].any()]
    plus = np.array([(lean[:, i, j] > 0).sum() for i, j in pairs], float)
    minus = np.array([(lean[:, i, j] < 0).sum() for i, j in pairs], float)
    p = np.where(plus + minus > 0, binomial_p(plus, np.maximum(plus + minus, 1), 0.5), 1.0)
    found = []
    for at, ((i, j), q) in enumerate(zip(pairs, corrected(p))):
        shown = q < 1 - level
        counts = (int(wins[:, i, j].sum()), int(choices.ties[:, i, j].sum()), int(wins[:, j, i].sum()))
        neither = int(together[:, i, j].sum() - plus[at] - minus[at])
        found.append(
            Preference(
                choices.systems[i], choices.systems[j], int(plus[at]), neither, int(minus[at]), *counts, float(p[at]),
                float(q), ("better" if plus[at] > minus[at] else "worse") if shown else "not shown",
            )
        )  # fmt: skip
    return found
