"""The position-based model: known truth by simulation, honest errors, and refusals of what rows cannot tell."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.propensity.clicks import Cells
from trueval.propensity.position_model import _click_variances, fit_positions
from trueval.propensity.propensity import Propensity

THETA = np.array([1.0, 0.6, 0.35, 0.2])


def world(items: int, rows: int, *, seed: int, best: float = 0.6) -> pl.DataFrame:
    """Better items are shown higher, so that plain click rates by position exaggerate."""
    rng = np.random.default_rng(seed)
    liked = rng.uniform(0.05, best, items)
    item = np.repeat(np.arange(items), rows)
    wish = (best - liked[item]) / best * 2 + rng.random(len(item)) * 2.5
    position = np.clip(np.floor(wish), 0, 3).astype(int)
    click = rng.random(len(item)) < THETA[position] * liked[item]
    return pl.DataFrame({"item": item, "position": position + 1, "click": click})


def clicks(*rows: tuple[object, object, object], times: int = 1) -> pl.DataFrame:
    return pl.DataFrame(list(rows) * times, schema=["item", "position", "click"], orient="row")


@pytest.mark.parametrize(("items", "rows"), [(40, 5_000), (60_000, 3)])
def test_known_examination_is_found_with_many_rows_per_item_and_with_few(items, rows):
    shown = world(items, rows, seed=0)
    fitted = Propensity.position(shown)
    assert np.abs(fitted.table["p"].to_numpy() - THETA).max() < 0.03
    assert fitted.notes == ()
    naive = Propensity.randomised(shown).table["p"].to_numpy()  # as if the order had been random
    assert np.abs(naive - THETA).max() > 0.05


def in_any_order(items: int, rows: int, *, seed: int) -> pl.DataFrame:
    """Items that are clicked more often than not at the best position, shown anywhere."""
    rng = np.random.default_rng(seed)
    liked = rng.uniform(0.5, 1.0, items)
    item = np.repeat(np.arange(items), rows)
    position = rng.integers(0, 4, len(item))
    return pl.DataFrame(
        {"item": item, "position": position + 1, "click": rng.random(len(item)) < THETA[position] * liked[item]}
    )


def errors_checked(make, items: int, rows: int, rounds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of the estimates, and on the log scale: how often ± 1.96 errors hold the truth, errors over true ones."""
    estimates, errors = [], []
    for seed in range(rounds):
        table = fit_positions(make(items, rows, seed=seed)).table
        estimates.append(table["p"].to_numpy())
        errors.append(table["error"].to_numpy() / table["p"].to_numpy())
    logs, errors = np.log(estimates)[:, 1:], np.array(errors)[:, 1:]
    inside = np.abs(logs - np.log(THETA[1:])) < 1.96 * errors
    ratio = np.sqrt((errors**2).mean(axis=0)) / logs.std(axis=0, ddof=1)
    return np.mean(estimates, axis=0), inside.mean(axis=0), ratio


@pytest.mark.parametrize(("make", "items", "rows"), [(world, 600, 3), (in_any_order, 600, 3), (world, 60, 60)])
def test_standard_errors_are_neither_too_small_nor_too_large(make, items, rows):
    mean, share, ratio = errors_checked(make, items, rows, 300)
    assert np.abs(mean - THETA).max() < 0.05
    assert share == pytest.approx(0.95, abs=0.04)  # of 300: ± 1.3 % is one standard error
    assert ratio == pytest.approx(1, abs=0.12)  # ± 4 % is one standard error
    assert ratio.mean() == pytest.approx(1, abs=0.07)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "items", "rows"),
    [(world, 4000, 3), (in_any_order, 2000, 3), (world, 500, 10), (world, 40, 500), (world, 8, 2000)],
)
def test_standard_errors_are_neither_too_small_nor_too_large_in_full(make, items, rows):
    mean, share, ratio = errors_checked(make, items, rows, 800)
    assert np.abs(mean - THETA).max() < 0.01
    assert share == pytest.approx(0.95, abs=0.025)
    assert ratio == pytest.approx(1, abs=0.08)


@pytest.mark.parametrize("places", [(0, 1), (0, 1, 2), (0, 0, 1), (0, 1, 1, 3)])
def test_variances_of_clicks_have_no_bias(places):
    """The mean over everything that can happen to one item, each by its probability, is θγ(1 - θγ) a row."""
    gamma = 0.7
    chance = THETA[list(places)] * gamma
    mean = np.zeros(len(set(places)))
    for clicked in product([0, 1], repeat=len(places)):
        cells = Cells.of(pl.DataFrame({"item": "a", "position": [THETA[p] for p in places], "click": clicked}))
        found = _click_variances(cells, np.array(cells.positions))
        mean += np.prod(np.where(clicked, chance, 1 - chance)) * found
    at = -THETA[list(places)]  # cells are in ascending order of θ here
    true = [sum((chance * (1 - chance))[at == one]) for one in sorted(set(at), reverse=True)]
    np.testing.assert_allclose(mean, true, rtol=1e-12)


def test_rows_that_were_all_clicked_are_not_taken_for_certain():
    found = fit_positions(clicks(*[(i, p, 1) for i in "abc" for p in (1, 2)])).table
    # both at most as variable as their 3 clicks; the equation is about 6 clicks with shares of one half: 1.5 = 6·½·½
    assert found["p"].to_list() == pytest.approx([1, 1])
    assert found["error"].to_list() == pytest.approx([0, np.sqrt(1.5) / 1.5])


def test_the_equations_by_hand():
    """Item a: 3 of 4 clicks at position 1, 1 of 2 at position 2; item b: 1 of 3 at 1, 2 of 6 at 2."""
    rows = [("a", 1, 1)] * 3 + [("a", 1, 0)] + [("a", 2, 1), ("a", 2, 0)]
    rows += [("b", 1, 1)] + [("b", 1, 0)] * 2 + [("b", 2, 1)] * 2 + [("b", 2, 0)] * 4
    fitted = fit_positions(clicks(*rows))
    # clicks at 2 as expected: 3 = 4·2θ/(4 + 2θ) + 3·6θ/(3 + 6θ)
    theta = np.linspace(0.01, 2, 2_000_000)
    root = theta[np.argmin(np.abs(4 * 2 * theta / (4 + 2 * theta) + 3 * 6 * theta / (3 + 6 * theta) - 3))]
    first, second = fitted.table["p"]
    assert second / first == pytest.approx(root, abs=2e-6)
    assert fitted.converged
    assert fitted.items == 2
    assert fitted.rows == 15


def test_order_types_and_names_change_nothing():
    shown = world(50, 40, seed=3)
    first, mixed = fit_positions(shown), shown.sample(fraction=1, shuffle=True, seed=1)
    assert first.converged
    for item in (pl.col("item"), pl.format("text {}", pl.col("item") + 100)):
        again = mixed.with_columns(item.alias("item"), pl.col("click").cast(pl.Float64))
        assert first.table.equals(fit_positions(again).table)
    renamed = fit_positions(mixed.with_columns(item=-pl.col("item"))).table  # sums in another order
    np.testing.assert_allclose(renamed["p"], first.table["p"], rtol=1e-9)


REFUSED = {
    "each item at one position": (
        clicks(("a", 1, 1), ("a", 1, 0), ("b", 2, 1), ("b", 2, 0), times=50),
        r"(?s)no item was shown at two positions.*2 items.*random order",
    ),
    "two islands": (
        clicks(*[(i, p, c) for i, ps in (("a", (1, 2)), ("b", (3, 4))) for p in ps for c in (0, 1)], times=50),
        r"(?s)no item was shown in two of these sets.*positions 1, 2\n.*positions 3, 4",
    ),
    "never clicked there": (
        clicks(("a", 1, 1), ("a", 2, 0), ("b", 1, 1), ("b", 2, 1), ("b", 3, 0), times=20),
        r"(?s)some positions have no click.*position 3 \(20 rows\)",
    ),
    "never clicked at all": (clicks(("a", 1, 0), ("a", 2, 0)), "no click at any position"),
    "clicked only by who was nowhere else": (
        clicks(("a", 1, 1), ("a", 2, 0), ("b", 2, 1), ("b", 2, 0), times=20),
        r"(?s)was clicked in one of them.*positions 1\n.*positions 2",
    ),
    "missing clicks": (clicks(("a", 1, 1), ("a", 2, None)), r"(?s)0 or 1.*1 row:.*item a, position 2, click None"),
    "no number": (clicks(("a", 1, 1.0), ("a", 2, float("nan"))), r"(?s)0 or 1.*click nan"),
    "counts": (clicks(("a", 1, 2), ("a", 2, 1), ("b", 1, 3)), r"(?s)0 or 1.*2 rows:.*click 2"),
    "words": (clicks(("a", 1, "yes"), ("a", 2, "no")), "0 or 1"),
    "missing positions": (clicks(("a", None, 1), ("a", 2, 1)), "needs item and position"),
    "missing items": (clicks((None, 1, 1), ("a", 2, 1)), "needs item and position"),
    "no rows": (clicks(("a", 1, 1)).head(0), "there are no clicks"),
    "no column": (clicks(("a", 1, 1)).drop("position"), "no column position"),
}


@pytest.mark.parametrize(("rows", "words"), REFUSED.values(), ids=REFUSED)
def test_what_rows_cannot_tell_is_refused(rows, words):
    with pytest.raises(tv.TruevalError, match=words):
        Propensity.position(rows)


@pytest.mark.parametrize("name", ["never clicked there", "missing clicks", "no number", "counts", "no rows"])
def test_a_randomised_slice_is_checked_alike(name):
    rows, words = REFUSED[name]
    with pytest.raises(tv.TruevalError, match=words.replace("item a, ", "")):
        Propensity.randomised(rows)


def test_a_randomised_slice_has_standard_errors():
    rng = np.random.default_rng(5)
    estimates, errors = [], []
    for _ in range(200):
        position = rng.integers(0, 4, 4000)
        rows = pl.DataFrame({"position": position, "click": rng.random(4000) < 0.3 * THETA[position]})
        found = Propensity.randomised(rows)
        estimates.append(found.table["p"].to_numpy())
        errors.append(found.errors["error"].to_numpy())
    assert np.abs(np.mean(estimates, axis=0) - THETA).max() < 0.02
    assert np.mean(errors, axis=0)[1:] == pytest.approx(np.std(estimates, axis=0)[1:], rel=0.15)


def test_large_errors_and_too_few_steps_are_said():
    fitted = Propensity.position(world(60, 8, seed=2))
    assert any("too few clicks" in note and "standard errors" in note for note in fitted.notes)
    hasty = Propensity.position(world(40, 500, seed=2), steps=1)
    assert any("not converged after 1 steps" in note for note in hasty.notes)


def test_one_position_alone_is_certain():
    found = Propensity.position(clicks(("a", 1, 1), ("b", 1, 0)))
    assert found.table.rows() == [(1, 1.0)]


@pytest.mark.parametrize("count", [-1.0, None, float("nan"), float("inf"), "many"])
def test_counts_of_displays_are_numbers(count):
    shown = pl.DataFrame({"item": ["a", "b"], "count": [count, count]})
    with pytest.raises(tv.TruevalError, match=r"(?s)numbers of at least 0.*a"):
        Propensity.display_share(shown)
    assert Propensity.display_share(pl.DataFrame({"item": ["a", "b"], "count": [3, 1]})).table["p"].max() == 0.75


def test_off_policy_estimates_say_it_too():
    log = world(60, 8, seed=2).rename({"click": "reward"}).with_columns(pl.col("reward").cast(pl.Int64))
    target = pl.DataFrame({"item": [0, 1], "probability": [0.5, 0.5]})
    found = tv.ope(log, target, propensity="position_model", estimators=["ips"])
    assert any("too few clicks" in text for text in found.warnings)
