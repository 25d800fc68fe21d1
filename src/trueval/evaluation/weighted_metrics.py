"""Metrics weighted by propensities: over whom they may be averaged, and the notes on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from trueval.errors import DefinitionError
from trueval.metrics.metric_inputs import RowPropensity
from trueval.metrics.spec import Spec
from trueval.render.numbers import percent


def check_averaged(specs: Iterable[Spec], population: str, *, compat: str | None = None) -> None:
    """Refuse ips where users enter the mean because something of theirs was observed: it is not unbiased then.

    >>> from trueval.metrics.grammar import parse
    >>> check_averaged([parse("ips(precision)@10"), parse("snips(recall)@10")], "all")
    """
    sums = [str(spec) for spec in specs if "ips" in spec.transforms]
    if sums and population != "all":
        of_preset = f", set by compat={compat}" if compat else ""
        do = 'use population="all" (--population all), or snips(…)'
        raise DefinitionError(
            f"{', '.join(sums)}: inverse propensity weighting is unbiased only over all users",
            found=f"population {population!r}{of_preset}: users without {population} test items are excluded",
            do=f"omit compat, and {do}" if compat else do,
        )


def labels_weighted(specs: Mapping[str, Spec], *transforms: str) -> list[str]:
    """The labels of weighted metrics: of all, or of those by some transforms.

    >>> from trueval.metrics.grammar import parse
    >>> labels_weighted({"a": parse("ips(dcg)@2"), "b": parse("dcg@2"), "c": parse("snips(dcg)@2")})
    ['a', 'c']
    """
    wanted = set(transforms or ("ips", "snips"))
    return [label for label, spec in specs.items() if wanted & set(spec.transforms)]


def notes_on_weights(specs: Mapping[str, Spec], propensity: RowPropensity | None) -> list[str]:
    """What a reader should know of weighted values."""
    weighted = {label: specs[label] for label in labels_weighted(specs)}
    if not weighted or propensity is None:
        return []
    notes = list(propensity.notes)
    scaled = [label for label, spec in weighted.items() if "ips" in spec.transforms or spec.parameters["clip"]]
    shares = propensity.shares
    sums = labels_weighted(specs, "ips")
    if propensity.relative and sums:
        notes.append(
            f"{propensity.given_by}: propensities are known up to a factor only, and so are the values of "
            f"{', '.join(sums)}: they compare systems, and do not estimate the metrics themselves"
        )
    if propensity.relative and propensity.train_excluded:
        notes.append(
            f"{propensity.given_by}: propensities are known up to a factor only, so that the weights cannot allow for "
            "train items, which are not recommended: where a share t of the log is in train, the weight of a pair that "
            f"is observed with probability p is too large by 1 / (1 - t p) ({', '.join(weighted)})"
        )
    if shares is not None and shares.random and not propensity.given_by:
        notes.append(
            "the pairs of this test set were drawn at random: they are weighted by the chance of the draw, and not by "
            f"propensities of the biased log ({', '.join(weighted)})"
        )
    elif shares is None and propensity.outside_train:
        notes.append(
            "propensities are taken as the probability that a pair which is not in train is in the test set: if they "
            "refer to a whole log, of which the test set is a random share s and train a share t, give s p / (1 - t p) "
            f"instead of p ({', '.join(weighted)} would change)"
        )
    elif scaled and shares is None:
        notes.append(
            "propensities are taken as the probability of being in the test set: if they refer to a whole log, and the "
            f"test set is a random share of it, multiply them by that share ({', '.join(scaled)} would change)"
        )
    elif scaled and shares is not None and shares.by is not None and shares.untested:
        notes.append(
            f"{shares.untested:,} of {len(shares.by):,} users have too few rows for any to be held out: because "
            f"their relevant items are missing, {', '.join(scaled)} may be too low"
        )
    against = [label for label, spec in weighted.items() if "against" in spec.parameters]
    if against:
        notes.append(
            f"{', '.join(against)}: relevant items that were not observed count among the others, which draws the "
            "value towards 1/2; snips(atop) compares with all targets, and has no such error"
        )
    by_user = [label for label, spec in weighted.items() if spec.parameters.get("average") == "mean"]
    if by_user:
        number = propensity.pairs.counts[propensity.pairs.counts > 0]
        notes.append(
            f"{', '.join(by_user)}: weights are normalised for each user, and cancel out for users with one relevant "
            f"item ({percent(np.mean(number == 1), 0)} of the users; {number.mean():.3g} relevant items on average): "
            "with few relevant items per user most of the bias remains"
        )
    return notes
