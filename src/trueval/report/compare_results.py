"""Comparisons and agreement of results, in memory or on disk: the public functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from trueval.arguments import checked
from trueval.comparison.agreement import Agreement, agree
from trueval.comparison.comparison import ComparisonOptions
from trueval.comparison.comparisons import Comparisons, compare_results
from trueval.comparison.join_results import join
from trueval.errors import DataError, DefinitionError
from trueval.evaluation.outcome import Evaluation
from trueval.metrics.grammar import split_list
from trueval.report.saved_results import designs_in, load_results


@runtime_checkable
class Resulting(Protocol):
    """What is needed of a result: its evaluation, or those of its folds and seeds."""

    evaluation: Evaluation
    repeats: Mapping[str, Evaluation]


@checked
def compare(
    results: Any,
    *,
    baseline: str | None = None,
    metrics: str | Sequence[str] | None = None,
    test: str = "t",
    correct: str = "holm",
    alternative: str = "two-sided",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparisons:
    """Compare every other system with a baseline, paired over common users.

    Parameters
    ----------
    results : Result, path, or list of these
        A result, a result folder or file (see `Result.save`), or several. Results of one seed complete each other: they
        hold different systems. A system in results of several seeds or folds is repeated: values are means over
        repeats, and intervals cover the spread over users and over repeats.
    baseline : text, optional
        The system to compare with. Default: the first.
    metrics : text or list of text, optional
        The metrics to compare on. Default: all that were measured.
    test : {"t", "wilcoxon", "permutation", "bootstrap"}, default "t"
        The paired test: Student's t, Wilcoxon (zeros by Pratt), sign flips, or bootstrap-t. Where at most 12 users
        differ, or all by the same amount, t is replaced by the exact sign-flip test; no p-value is below the smallest
        possible one for so many users. Each comparison has the `test` that was made and, if another, the `reason`.
    correct : {"holm", "bonferroni", "bh", "none"}, default "holm"
        Correction of p-values over all comparisons made ("bh": Benjamini–Hochberg).
    alternative : {"two-sided", "better", "worse"}, default "two-sided"
        What the test looks for.
    level : number, default 0.95
        Confidence level of the intervals, and 1 minus the significance level of the tests.
    resamples : int, default 10,000
        Number of sign flips or resamples.
    seed : int, default 0
        Seed of sign flips and resamples.

    Returns
    -------
    Comparisons
        A sequence of `Comparison`: difference, interval, p-value and corrected p-value, verdict, wins, ties and losses.
        Prints as a table.

    Raises
    ------
    TruevalError
        For results that differ in anything but systems, seeds and folds (data, split, design, population, ties,
        definitions, …), with what differs.

    Examples
    --------
    >>> import polars as pl, trueval as tv
    >>> test = pl.DataFrame({"user": range(40), "item": [u % 7 for u in range(40)]})
    >>> runs = {n: test.with_columns(item=pl.col("user") % k % 7, rank=pl.lit(1)) for n, k in (("a", 7), ("b", 9))}
    >>> found = compare(tv.evaluate_run(runs, test, metrics="hit@1"), baseline="b", test="permutation")
    >>> found[0].verdict, found[0].wins, found[0].ties, found[0].losses
    ('better', 31, 9, 0)
    """
    options = ComparisonOptions(test, correct, alternative, level, resamples, seed)
    chosen = split_list(metrics) if isinstance(metrics, str) else metrics
    parts = {
        f"{name}, {part}" if part else name: evaluation
        for name, one in _named(results).items()
        for part, evaluation in parts_of(one).items()
    }
    return compare_results(join(parts), baseline, metrics=chosen, options=options)


@checked
def agreement(
    results: Any,
    *,
    metrics: str | Sequence[str] | None = None,
    true: Mapping[str, float] | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Measure how far rankings of systems agree: Kendall's τ-b and top-weighted τ of their true values, with intervals.

    The true values are those in the population that the users are a sample of. τ of the observed values is no estimate
    for them: metrics of the same users share errors, so that it is too high for systems that are close. It is available
    as `tau.observed` and `top.observed`, for statements about these users alone. The estimate models the true values of
    systems as normal, with an unknown spread and an unknown correlation between the rankings, and draws them given the
    observed values and the covariances of their errors over users (see `true_tau`). Where the users give little
    information, it tends to 0 and the interval to all values from −1 to 1.

    Parameters
    ----------
    results : Result, path, list of these, or mapping from names to these
        One result: its metrics are compared with each other. Several (of other designs, say, or of an unbiased test):
        the results are compared.
    metrics : text or list of text, optional
        The metrics to rank systems by. Default: all that were measured.
    true : mapping from systems to numbers, optional
        The true value of each system, where it is known: one more ranking to agree with.
    level : number, default 0.95
        Confidence level of the intervals.
    resamples : int, default 1000
        How often the true values are drawn.
    seed : int, default 0
        Seed of the draws.

    Returns
    -------
    Agreement
        `tau` and `top`, each with the matrices `value`, `low`, `high` and `observed` between every two rankings of
        `labels`; `found["map", "ndcg@10"]` is one τ. Prints as a matrix.

    Raises
    ------
    TruevalError
        For fewer than two rankings, and fewer than three systems that all rankings have.

    Examples
    --------
    >>> import polars as pl, trueval as tv
    >>> test = pl.DataFrame({"user": range(30), "item": [0] * 30})
    >>> run = test.with_columns(item=pl.when(pl.col("user") < 20).then(0).otherwise(1), rank=pl.lit(1))
    >>> runs = {n: run.filter(pl.col("user") >= k) for n, k in (("a", 0), ("b", 5), ("c", 10))}
    >>> result = tv.evaluate_run(runs, test, metrics="hit@1")
    >>> found = agreement(result, true={"a": 0.3, "b": 0.1, "c": 0.2})
    >>> [round(float(part[0, 1]), 2) for part in (found.tau.observed, found.tau.low, found.tau.high)]
    [0.33, -0.33, 1.0]
    """
    chosen = split_list(metrics) if isinstance(metrics, str) else metrics
    return agree(named_parts(results), metrics=chosen, true=true, level=level, resamples=resamples, seed=seed)


def named_parts(results: Any) -> dict[str, list[Evaluation]]:
    """Results by names, each as the evaluations of its folds and seeds; those of different designs by their designs."""
    given = results if isinstance(results, Mapping) else _named(_by_design(results))
    found = {str(name): list(parts_of(one).values()) for name, one in given.items()}
    if not found:
        raise DataError("there is nothing to compare", found="no result")
    designs = {str(parts[0].manifest.get("design")): parts for parts in found.values()}
    return designs if not isinstance(results, Mapping) and len(found) == len(designs) else found


def _several(results: Any) -> list[Any]:
    """Results one by one; what is neither a result nor a list of them is refused when it is looked at."""
    alone = isinstance(results, (Resulting, str, Path)) or not isinstance(results, Iterable)
    return [results] if alone else list(results)


def _by_design(results: Any) -> list[Any]:
    """The folder of an experiment as the folders of its designs; other results as they are."""
    given = _several(results)
    opened: list[list[Any]] = [list(designs_in(one) if isinstance(one, (str, Path)) else ()) or [one] for one in given]
    return [one for several in opened for one in several]


def _named(results: Any) -> dict[str, Any]:
    """Results by names for messages: paths, as short as they differ, or numbers."""
    given = _several(results)
    paths = [Path(one) for one in given if isinstance(one, (str, Path))]
    short = len({path.name for path in paths}) == len(paths)
    named: dict[str, Any] = {}
    for at, one in enumerate(given, 1):
        name = f"result {at}"
        if isinstance(one, (str, Path)):
            name = Path(one).name if short else str(one)
        named[name if name not in named else f"{name} ({at})"] = one
    return named


def parts_of(result: Any) -> dict[str, Evaluation]:
    """The evaluation of a result, or those of its folds and seeds by name."""
    if isinstance(result, (str, Path)):
        return load_results(result)
    if isinstance(result, Resulting):
        return dict(result.repeats) or {"": result.evaluation}
    raise DefinitionError("not a result", found=type(result).__name__, do="give a Result, a result folder or file")
