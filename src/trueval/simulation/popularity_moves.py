"""How popularity moves in a log, told apart from chance: the share of every item's rows that falls in each period.

Time is halved, and halves again. In each halving an item is not there at all before the middle, or no longer after it,
or has a share of rows before the middle that is more or less near that of all rows (beta distributions from wide to
narrow). How many items are of each sort is estimated over all items, by maximum likelihood; the share of an item is
then drawn from what its rows and the other items tell of it. So shares of many rows are nearly those seen, and those
of few rows spread as the others do: with the shares seen, the chance that is in the log would come a second time with
the draw of the world. A log whose times were drawn by lot has no moves beyond chance, and is found to have none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_FIRM = 2.0 ** np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 24])  # rows that a beta distribution stands for
_CELLS = 200_000  # items × stretches from which a law is estimated
_ROUNDS, _TURNS = 3, 100


@dataclass(frozen=True)
class Halving:
    """The law of shares before the middle of some stretches of time, estimated over all items.

    `parts` says how many items are not there before the middle, how many not after it, and how many have shares from
    beta distributions around the stretch's mean, from wide to narrow: with the last one nothing moves.
    """

    mean: np.ndarray  # by stretch
    parts: np.ndarray

    def drawn(self, before: np.ndarray, after: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Shares before the middle, drawn from what the rows tell of them (items × stretches)."""
        total = np.cumsum(_densities(before, after, self.mean) * self.parts, axis=-1)
        coin = rng.random(before.shape) * total[..., -1]
        part = np.minimum((total <= coin[..., None]).sum(axis=-1), len(self.parts) - 1)
        inside = (self.mean > 0) & (self.mean < 1)
        mean, firm = np.where(inside, self.mean, 0.5), _FIRM[np.maximum(part - 2, 0)]
        share = np.where(part < 2, part == 1, rng.beta(before + firm * mean, after + firm * (1 - mean)))
        return np.where(inside, share, self.mean)  # no rows on one side: there is no middle


def drawn_shares(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The share of each item's rows by period, drawn from what is known of it (items × periods, a power of two).

    Counts are those of independent rows; they need not be whole.

    >>> shares = drawn_shares(np.array([[900, 100]] * 5 + [[100, 900]] * 5), np.random.default_rng(0))
    >>> shares[[0, 9]].round(1).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """
    items, periods = counts.shape
    shares = np.ones((items, 1))
    while shares.shape[1] < periods:
        sides = counts.reshape(items, shares.shape[1], 2, -1).sum(axis=-1)
        before, after = sides[..., 0], sides[..., 1]
        law = halving(before, after, rng)
        early = np.concatenate([
            law.drawn(before[at : at + _CELLS], after[at : at + _CELLS], rng) for at in range(0, items, _CELLS)
        ])  # fmt: skip
        shares = np.stack([shares * early, shares * (1 - early)], axis=-1).reshape(items, -1)
    return shares


def halving(before: np.ndarray, after: np.ndarray, rng: np.random.Generator) -> Halving:
    """The law of some stretches by expectation–maximisation; numbers of rows are of items × stretches.

    >>> rows = np.random.default_rng(1).binomial(50, 0.5, (400, 1))  # times drawn by lot
    >>> bool(halving(rows, 50 - rows, np.random.default_rng(0)).parts[-4:].sum() > 0.7)
    True
    """
    total = before.sum(axis=0), after.sum(axis=0)
    mean = total[0] / np.maximum(total[0] + total[1], 1e-300)
    inside = (mean > 0) & (mean < 1)
    parts = np.append(np.zeros(len(_FIRM) + 1), 1.0)
    item, stretch = np.nonzero((before + after >= 2) & inside)  # one row alone says nothing of how shares vary
    if len(item) > _CELLS:
        some = np.sort(rng.choice(len(item), _CELLS, replace=False))
        item, stretch = item[some], stretch[some]
    if not len(item):
        return Halving(mean, parts)
    own, other, centre = before[item, stretch], after[item, stretch], mean
    parts = np.full(len(parts), 1 / len(parts))
    for _ in range(_ROUNDS):
        density = np.ascontiguousarray(_densities(own, other, centre[stretch]).T)
        for _ in range(_TURNS):
            parts = parts * (density / _mixed(parts, density)).mean(axis=1)
        stays = _mixed(parts[2:], density[2:]) / _mixed(parts, density)
        early = np.bincount(stretch, stays * own, minlength=len(mean)) + mean  # one row more, lest there be none
        late = np.bincount(stretch, stays * other, minlength=len(mean)) + 1 - mean
        centre = np.where(inside, early / (early + late), mean)
    return Halving(centre, parts / parts.sum())


def _mixed(parts: np.ndarray, density: np.ndarray) -> np.ndarray:
    """How likely the rows of each item are; added up in one order, which a BLAS does not promise."""
    total = np.full(density.shape[1], 1e-300)
    for part, row in zip(parts, density):
        total += part * row
    return total


def _densities(before: np.ndarray, after: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """How likely so many of these rows are before the middle, with each part of a law: one more axis."""
    from scipy.special import betaln

    mean = np.clip(mean, 1e-9, 1 - 1e-9)
    ways = -np.log(before + after + 1.0) - betaln(before + 1.0, after + 1.0)
    found = [(before == 0) * 1.0, (after == 0) * 1.0]
    for firm in _FIRM:
        early, late = firm * mean, firm * (1 - mean)
        found.append(np.exp(ways + betaln(before + early, after + late) - betaln(early, late)))
    return np.stack(found, axis=-1)
