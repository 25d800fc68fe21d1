"""The main findings of an evaluation, as sentences computed from its values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trueval.comparison.comparison import Comparison, statements_of
from trueval.comparison.sentences import comparison_sentence, rare_users
from trueval.evaluation.outcome import Evaluation
from trueval.render.numbers import level_percent, number, p_phrase, short_percent
from trueval.render.statements import Sentence, Statement
from trueval.statistics.multiple_comparisons import NAMES


def findings(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> list[str]:
    """The sentences as text (see `find_sentences`).

    >>> import polars as pl, trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "rank": [1, 1]})
    >>> test = pl.DataFrame({"user": [1, 2], "item": ["a", "c"]})
    >>> findings(tv.evaluate_run(recs, test, items=list("abcde"), metrics="coverage@1").evaluation)
    ['run recommends 40\xa0% of the catalogue to at least one user.']
    """
    return [sentence.text for sentence in find_sentences(evaluation, comparisons)]


def find_sentences(evaluation: Evaluation, comparisons: Sequence[Comparison] = ()) -> list[Sentence]:
    """Sentences about chance, the baseline, unjudged items, and how much of the catalogue is recommended.

    There is a sentence only where the evaluation has the values for it. Accuracy means the first accuracy metric
    with a known expected value of a random ranking, or, without one (as without a catalogue), the first of all.
    """
    label = next((n for n in evaluation.random if evaluation.specs[n].better == "higher"), None)
    sentences: list[Sentence] = []
    if label is not None:
        sentences += _against_chance(evaluation, label)
    else:
        accuracy = (n for n, spec in evaluation.specs.items() if spec.metric.measures == "accuracy")
        label = next((n for n in accuracy if evaluation.specs[n].better == "higher"), None)
    if label is not None:
        sentences += _against_baseline(evaluation, comparisons, label)
    return sentences + [Sentence(text) for text in _unjudged(evaluation) + _coverage(evaluation)]


def values(evaluation: Evaluation, label: str) -> dict[str, float]:
    """Known values of a metric by system, highest first."""
    found = {name: system.estimates[label].value for name, system in evaluation.systems.items()}
    return dict(sorted(((n, v) for n, v in found.items() if v == v), key=lambda pair: -pair[1]))


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _against_chance(evaluation: Evaluation, label: str) -> list[Sentence]:
    chance = evaluation.random[label]
    estimates = {name: evaluation.systems[name].estimates[label] for name in values(evaluation, label)}
    above = [n for n, e in estimates.items() if e.value > 0 and (e.low > chance or e.low != e.low)]
    sentences = []
    said = (Statement("value by chance", (label,), "=", chance),)
    if above:
        shares = [f"{short_percent(chance / estimates[n].value)} of {n}'s" for n in above]
        shares[0] += " value"
        sentences.append(Sentence(f"A random ranking scores {chance:.4f} on {label}: {listed(shares)}.", said))
    alike = [n for n, e in estimates.items() if e.low <= chance <= e.high]
    if alike:  # the interval alone: a test of the lead over chance pairs users, and may show what it does not
        of = f"the interval of {alike[0]}" if len(alike) == 1 else f"the intervals of {listed(alike)}"
        text = f"The value of a random ranking on {label}, {chance:.4f}, lies within {of}."
        sentences.append(Sentence(text, said))
    return sentences


def _against_baseline(evaluation: Evaluation, comparisons: Sequence[Comparison], label: str) -> list[Sentence]:
    own = [c for c in comparisons if c.metric == label]
    if not own:
        return []
    known, chance, baseline = values(evaluation, label), evaluation.random.get(label, math.nan), own[0].baseline
    sentences = []
    best = max(own, key=lambda c: c.difference)
    said = (statements_of(comparisons)[list(comparisons).index(best)],)
    if math.isnan(best.p):  # a single user, for example
        return [Sentence(comparison_sentence(best), said)]
    if chance < known.get(baseline, chance) < known.get(best.system, chance):
        share = (known[baseline] - chance) / (known[best.system] - chance)
        text = f"The baseline, {baseline}, reaches {short_percent(share)} of {best.system}'s lead over chance."
        sentences.append(Sentence(text))
    between = f"interval {number(best.low, sign=True)} to {number(best.high, sign=True)}"
    between = "no interval" if math.isnan(best.low) else f"{level_percent(best.level)} {between}"
    shift = "shift " if best.estimate == "shift" else ""
    interval = f"{shift}{number(best.difference, sign=True)}, {between}"
    sure = f"{p_phrase(best.p_corrected)} after {NAMES[best.correction]}'s correction"
    if len(own) > 1 and all(c.verdict == "worse" for c in own):
        all_worse = f"The baseline, {baseline}, is better than every other system on {label}"
        sentences.append(Sentence(f"{all_worse}; {best.system} comes closest ({interval}, {sure}).", said))
    elif best.verdict == "not shown":
        no_difference = f"There is no significant difference between {best.system} and {baseline} on {label}"
        sentences.append(Sentence(f"{no_difference} ({interval}, {sure}).", said))
    elif best.verdict == "cannot tell":
        open_ = f"It cannot be told whether {best.system} and {baseline} differ on {label}"
        sentences.append(Sentence(f"{open_} ({interval}, {sure}). {rare_users(best)}.", said))
    else:
        text = f"{best.system} is {best.verdict} than {baseline} on {label} ({interval}, {sure})."
        sentences.append(Sentence(text, said))
    return sentences


def _unjudged(evaluation: Evaluation) -> list[str]:
    label = next((n for n, spec in evaluation.specs.items() if spec.metric.finding == "never judged"), None)
    if label is None:
        return []
    k = evaluation.specs[label].k
    shares = [f"{short_percent(share)} of {name}'s" for name, share in values(evaluation, label).items()]
    shares[0] += f" top {k}"
    have = "has" if len(shares) == 1 else "have"
    unrated = f"{listed(shares)} {have} no rating from the user in the test set"
    return [f"{unrated}: such items count as misses, whether the user would like them or not."]


def _coverage(evaluation: Evaluation) -> list[str]:
    label = next((n for n, spec in evaluation.specs.items() if spec.metric.finding == "catalogue shown"), None)
    if label is None:
        return []
    (first, most), *others = values(evaluation, label).items()
    shares = [
        f"{first} recommends {short_percent(most)} of the catalogue to at least one user",
        *(f"{name} {short_percent(share)}" for name, share in others),
    ]
    return [f"{listed(shares)}."]
