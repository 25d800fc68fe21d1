"""Rankings of systems by participants: mean ranks, constraints fulfilled and violated, first places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.errors import DataError, DefinitionError, suggest
from trueval.online.user_study.blanks import NOT_LOOKED_AT, WORSE
from trueval.statistics.binomial import clopper_pearson, coins_at_least
from trueval.statistics.rank_tests import middle_ranks


@dataclass(frozen=True, slots=True)
class Rankings:
    """A ranking per participant: a row each, a column per system, NaN where a system has no rank.

    `ranks` are places 1, 2, … among what has one; equals share the mean of their places. Blanks that mean worse have a
    rank, below all that were `placed`.
    """

    participants: tuple[str, ...]
    systems: tuple[str, ...]
    ranks: np.ndarray
    placed: np.ndarray  # whether the participant gave the system a place
    combined: int = 0  # participants whose several rankings were made one

    @property
    def known(self) -> np.ndarray:
        """Where there is a rank."""
        return ~np.isnan(self.ranks)

    def only(self, keep: np.ndarray) -> Rankings:
        """Of some participants."""
        people = tuple(name for name, kept in zip(self.participants, keep) if kept)
        return Rankings(people, self.systems, self.ranks[keep], self.placed[keep], self.combined)

    def above(self) -> np.ndarray:
        """Whether a participant ranked one system above another: participants by systems by systems."""
        return self.ranks[:, :, None] < self.ranks[:, None, :]

    def equal(self) -> np.ndarray:
        """Whether a participant gave two systems the same place; of two that were left blank nothing is known.

        Strengths need that: which of two is better does not depend, in Luce's model, on how good the better one is, so
        that two of which at least one has a place say what all would. Two blanks as a tie would draw weak systems up.
        """
        same = self.ranks[:, :, None] == self.ranks[:, None, :]
        either = self.placed[:, :, None] | self.placed[:, None, :]
        return same & either & ~np.eye(len(self.systems), dtype=bool)

    def places(self) -> np.ndarray:
        """Ranks as places among all systems: what a rank among those looked at leads one to expect.

        Of n systems of which k were looked at by chance, the r-th of the k is on average 1 + (r - 1) (n - 1) / (k - 1)
        th of all; of one alone nothing is known.

        >>> row = np.array([[1.0, 2.0, np.nan, np.nan, 3.0], [np.nan, 1.0, np.nan, np.nan, np.nan]])
        >>> Rankings(("p", "q"), tuple("abcde"), row, ~np.isnan(row)).places().tolist()
        [[1.0, 3.0, nan, nan, 5.0], [nan, nan, nan, nan, nan]]
        """
        return _among_all(self.ranks, np.full(len(self.ranks), len(self.systems)))


def rankings_of(table: pl.DataFrame, *, blanks: str = NOT_LOOKED_AT, where: str = "rankings") -> Rankings:
    """The ranking of every participant from a table with participant, system, rank and, where asked, task.

    Systems without a place have none ("not looked at"), or share the ranks after all others ("worse"). Several rankings
    of one participant become one by their mean places, for people are the sample, not rankings. Planted lists are left
    out before places are counted.

    >>> frame = pl.DataFrame({"participant": ["p"] * 3, "task": 1, "system": ["a", "b", "c"], "rank": [4, 1, None]})
    >>> rankings_of(frame).ranks.tolist(), rankings_of(frame, blanks="worse").ranks.tolist()
    ([[2.0, 1.0, nan]], [[2.0, 1.0, 3.0]])
    """
    own = table.filter(pl.col("check").is_null()) if "check" in table.columns else table
    systems = tuple(sorted(own["system"].unique().to_list()))
    if len(systems) < 2:
        raise DataError(
            "a comparison needs at least two systems", where=where, found=", ".join(systems) or "none",
            do="give the ranks of every system that participants saw",
        )  # fmt: skip
    tasks = own.select("participant", "task").unique().sort("participant", "task")
    people = tuple(tasks["participant"].unique(maintain_order=True).to_list())
    row = {key: at for at, key in enumerate(tasks.iter_rows())}
    rows = np.array([row[key] for key in own.select("participant", "task").iter_rows()])
    columns = np.searchsorted(np.array(systems), own["system"].to_numpy().astype(str))
    given, asked = np.full((len(tasks), len(systems)), np.nan), np.zeros((len(tasks), len(systems)), bool)
    given[rows, columns] = own["rank"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    asked[rows, columns] = True
    person = np.searchsorted(people, tasks["participant"].to_numpy())
    placed = np.zeros((len(people), len(systems)), bool)
    np.logical_or.at(placed, person, ~np.isnan(given))
    if blanks == WORSE:
        given[asked & np.isnan(given) & ~np.isnan(given).all(axis=1, keepdims=True)] = np.inf
    ranks, combined = _one_each(middle_ranks(given), asked.sum(axis=1), person, len(people))
    if blanks == WORSE:  # what has no row at all is a blank, too
        ranks = middle_ranks(np.where(np.isnan(ranks) & placed.any(axis=1, keepdims=True), np.inf, ranks))
    return Rankings(people, systems, ranks, placed, combined)


def _one_each(ranks: np.ndarray, asked: np.ndarray, person: np.ndarray, people: int) -> tuple[np.ndarray, int]:
    """Mean places of each participant, ranked again where there were several rankings."""
    if len(ranks) == people:
        return ranks, 0
    places = _among_all(ranks, asked)
    known = ~np.isnan(places)
    total, number = np.zeros((2, people, ranks.shape[1]))
    np.add.at(total, person, np.where(known, places, 0.0))
    np.add.at(number, person, known)
    with np.errstate(invalid="ignore"):
        mean = np.where(number > 0, np.round(total / number, 9), np.nan)
    return middle_ranks(mean), int(np.count_nonzero(np.bincount(person, minlength=people) > 1))


def _among_all(ranks: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Ranks among the systems that have one as places among those asked about, see `Rankings.places`."""
    number = (~np.isnan(ranks)).sum(axis=1)
    scale = np.where(number > 1, (asked - 1) / np.maximum(number - 1, 1), np.nan)
    scale[(asked == 1) & (number == 1)] = 1.0
    return 1 + (ranks - 1) * scale[:, None]


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """One system in all rankings, as in the table of Steck (2011).

    `fulfilled` and `violated` count, over participants, the systems ranked below and above this one: the pairwise
    constraints of their rankings that hold, and that do not, if this system is put first. Systems with the same rank
    give no constraint and are in `tied`. `first` counts participants with this system alone at the top.
    """

    system: str
    mean_rank: float  # place among all systems, on average
    ranked: int  # by so many participants
    unranked: int
    fulfilled: int
    violated: int
    tied: int
    first: int
    first_shared: int  # at the top with others
    first_of: int  # participants who could rank it first: those whose ranking has it, beside another one
    first_share: float
    first_low: float
    first_high: float

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def ranked_systems(rankings: Rankings, *, level: float = 0.95) -> list[RankedSystem]:
    """Every system's ranks, constraints and first places, with exact intervals (Clopper and Pearson).

    >>> frame = pl.DataFrame({"participant": [*"ppqq"], "system": ["a", "b"] * 2, "rank": [1, 2] * 2, "task": 1})
    >>> [(s.system, s.mean_rank, s.fulfilled, s.violated, s.first) for s in ranked_systems(rankings_of(frame))]
    [('a', 1.0, 2, 0, 2), ('b', 2.0, 0, 2, 0)]
    """
    above, equal, places = rankings.above(), rankings.equal(), rankings.places()
    alone, shared = first_places(rankings)
    found = []
    for at, name in enumerate(rankings.systems):
        own = places[~np.isnan(places[:, at]), at]
        first, trials, ranked = int(alone[:, at].sum()), len(own), int(rankings.placed[:, at].sum())
        ends = clopper_pearson(first, trials, tail=(1 - level) / 2) if trials else (np.nan, np.nan)
        found.append(
            RankedSystem(
                name, float(own.mean()) if len(own) else np.nan, ranked, len(places) - ranked,
                int(above[:, at].sum()), int(above[:, :, at].sum()), int(equal[:, at].sum()), first,
                int(shared[:, at].sum()), trials, first / trials if trials else np.nan, *map(float, ends),
            )
        )  # fmt: skip
    return found


def first_places(rankings: Rankings) -> tuple[np.ndarray, np.ndarray]:
    """Whether each participant has each system at the top alone, and there with others.

    The only system that somebody looked at is at no top.
    """
    known = rankings.known & (rankings.known.sum(axis=1, keepdims=True) > 1)
    best = np.min(np.where(known, rankings.ranks, np.inf), axis=1, keepdims=True)
    top = known & (rankings.ranks == best)
    single = top.sum(axis=1, keepdims=True) == 1
    return top & single, top & ~single


@dataclass(frozen=True, slots=True)
class FirstPlaceTest:
    """How often one of some systems, named beforehand, came first, against all systems being equally likely to."""

    systems: tuple[str, ...]
    first: int
    trials: int  # participants whose first place is inside the set, or outside
    chance: float  # mean over participants of the share of the systems in their ranking that is in the set
    p: float  # exact, one-sided: so often or more often
    low: float
    high: float
    left_out: int  # whose first place is shared by systems inside and outside

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "systems": list(self.systems)}


def first_place_test(rankings: Rankings, systems: Sequence[str], *, level: float = 0.95) -> FirstPlaceTest:
    """The exact binomial test that systems named before the study come first more often than by chance.

    Where participants ranked different systems, chances differ and the distribution of their sum is computed.

    >>> frame = pl.DataFrame({"participant": [*"ppqqrr"], "system": ["a", "b"] * 3, "rank": [1, 2] * 3, "task": 1})
    >>> test = first_place_test(rankings_of(frame), ["a"])
    >>> test.first, test.trials, test.p
    (3, 3, 0.125)
    """
    inside = _inside(rankings, systems)
    alone, shared = first_places(rankings)
    top = alone | shared
    is_in, is_out = (top & inside).any(axis=1), (top & ~inside).any(axis=1)
    counted = is_in ^ is_out
    chances = (rankings.known & inside).sum(axis=1)[counted] / rankings.known.sum(axis=1)[counted]
    first, trials = int(is_in[counted].sum()), int(counted.sum())
    low, high = clopper_pearson(first, trials, tail=(1 - level) / 2) if trials else (np.nan, np.nan)
    return FirstPlaceTest(
        tuple(name for name, own in zip(rankings.systems, inside) if own), first, trials,
        float(chances.mean()) if trials else np.nan, coins_at_least(chances, first), float(low), float(high),
        int((is_in & is_out).sum()),
    )  # fmt: skip


def _inside(rankings: Rankings, systems: Sequence[str]) -> np.ndarray:
    for name in systems:
        if name not in rankings.systems:
            raise DefinitionError(f"there is no system {name!r}", where="first", do=suggest(name, rankings.systems))
    inside = np.isin(rankings.systems, list(systems))
    if not inside.any() or inside.all():
        raise DefinitionError(
            "the systems expected to come first must be some of all systems", where="first",
            found=", ".join(systems) or "none", do=f"name some of {', '.join(rankings.systems)}",
        )  # fmt: skip
    return inside
