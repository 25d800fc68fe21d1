"""What one sees in an evaluation, in sentences computed from its values."""

from __future__ import annotations

from collections.abc import Sequence

from trueval.comparison.comparison import Comparison
from trueval.evaluation.outcome import Evaluation
from trueval.render.numbers import level_percent, p_phrase, short_percent
from trueval.statistics.corrections import NAMES


def findings(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> list[str]:
    """Sentences about chance, the baseline, what was never judged, and how much of the catalogue is shown.

    Each speaks only where the evaluation has the values for it. Accuracy is spoken of by the first accuracy
    metric of which the expected value of a random ranking is known.

    >>> import polars as pl, trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "rank": [1, 1]})
    >>> test = pl.DataFrame({"user": [1, 2], "item": ["a", "c"]})
    >>> findings(tv.evaluate_run(recs, test, items=list("abcde"), metrics="coverage@1").evaluation)
    ['Of the catalogue, run shows 40\xa0% to anyone.']
    """
    label = next((n for n in evaluation.random if evaluation.specs[n].better == "higher"), None)
    told: list[str] = []
    if label is not None:
        told += _against_chance(evaluation, label)
        told += _against_baseline(evaluation, comparisons, label)
    return told + _unjudged(evaluation) + _coverage(evaluation)


def values(evaluation: Evaluation, label: str) -> dict[str, float]:
    """Known values of a metric by system, highest first."""
    found = {name: system.estimates[label].value for name, system in evaluation.systems.items()}
    return dict(sorted(((n, v) for n, v in found.items() if v == v), key=lambda pair: -pair[1]))


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _against_chance(evaluation: Evaluation, label: str) -> list[str]:
    chance = evaluation.random[label]
    estimates = {name: evaluation.systems[name].estimates[label] for name in values(evaluation, label)}
    above = [n for n, e in estimates.items() if e.value > 0 and (e.low > chance or e.low != e.low)]
    told = []
    if above:
        shares = [f"{short_percent(chance / estimates[n].value)} of {n}'s" for n in above]
        shares[0] += " value"
        told.append(f"On {label} a random ranking would get {chance:.4f}: {listed(shares)}.")
    alike = [n for n, e in estimates.items() if e.low <= chance <= e.high]
    if alike:
        told.append(f"{_capital(listed(alike))} cannot be told from chance.")
    return told


def _against_baseline(evaluation: Evaluation, comparisons: Sequence[Comparison], label: str) -> list[str]:
    own = [c for c in comparisons if c.metric == label]
    if not own:
        return []
    known, chance, baseline = values(evaluation, label), evaluation.random[label], own[0].baseline
    told = []
    best = max(own, key=lambda c: c.difference)
    if chance < known.get(baseline, chance) < known.get(best.system, chance):
        share = (known[baseline] - chance) / (known[best.system] - chance)
        told.append(f"The baseline, {baseline}, explains {short_percent(share)} of {best.system}'s lead over chance.")
    interval = f"{best.difference:+.4f}, {level_percent(best.level)} interval {best.low:+.4f} to {best.high:+.4f}"
    sure = f"{p_phrase(best.p_corrected)} after {NAMES[best.correction]}'s correction"
    if best.verdict == "not shown":
        told.append(f"That {best.system} differs from {baseline} on {label} is not shown ({interval}, {sure}).")
    else:
        told.append(f"{_capital(best.system)} is {best.verdict} than {baseline} on {label} ({interval}, {sure}).")
    return told


def _unjudged(evaluation: Evaluation) -> list[str]:
    label = next((n for n, spec in evaluation.specs.items() if spec.metric.tells == "never judged"), None)
    if label is None:
        return []
    k = evaluation.specs[label].k
    shares = [f"{short_percent(share)} of {name}'s" for name, share in values(evaluation, label).items()]
    shares[0] += f" top {k}"
    return [f"Never judged by the user were {listed(shares)}: such items count as misses, liked or not."]


def _coverage(evaluation: Evaluation) -> list[str]:
    label = next((n for n, spec in evaluation.specs.items() if spec.metric.tells == "catalogue shown"), None)
    if label is None:
        return []
    (first, most), *others = values(evaluation, label).items()
    shares = [
        f"{first} shows {short_percent(most)} to anyone",
        *(f"{name} {short_percent(share)}" for name, share in others),
    ]
    return [f"Of the catalogue, {listed(shares)}."]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
