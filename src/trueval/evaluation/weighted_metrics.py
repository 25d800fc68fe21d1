"""Metrics weighted by propensities: over whom they may be averaged, what share was held out, the notes on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trueval.errors import DefinitionError
from trueval.metrics.metric_inputs import RowPropensity
from trueval.metrics.spec import Spec
from trueval.render.numbers import percent

if TYPE_CHECKING:
    from trueval.propensity.held_out_shares import HeldOutShares
    from trueval.splits.parts import Parts


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


def held_out_shares(parts: Parts) -> HeldOutShares | None:
    """The chance that a row of the log was put into the test part, where chance decided; None where it did not.

    >>> from trueval.data.interactions import Interactions
    >>> from trueval.splits.parts import Parts
    >>> log = Interactions.of(pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1]}))
    >>> held_out_shares(Parts(log, log, how={"how": "kfold", "n": 5}))
    HeldOutShares(test=0.2, outside=0.2, by_user=None)
    >>> held_out_shares(Parts(log, log)) is None
    True
    """
    from trueval.propensity.held_out_shares import HeldOutShares
    from trueval.splits.registry import BY_USER, split_of

    made = split_of(parts.how)
    chance = None if made is None else made.chance(parts.how)
    if made is None or chance is None:
        return None
    if chance == BY_USER:
        return HeldOutShares(by_user=_shares_by_user(parts))
    return HeldOutShares(float(chance), made.outside(parts.how))


def _shares_by_user(parts: Parts) -> pl.DataFrame:
    places = {"train": parts.train, "validation": parts.validation, "test": parts.test}
    rows = [log.frame.select("user", place=pl.lit(place)) for place, log in places.items() if log is not None]
    tested, outside = (pl.col("place") == "test").mean(), (pl.col("place") != "train").mean()
    return pl.concat(rows).group_by("user").agg(test=tested, outside=outside).sort("user")


def notes_on_weights(specs: Mapping[str, Spec], propensity: RowPropensity | None) -> list[str]:
    """What a reader should know of weighted values."""
    weighted = {label: spec for label, spec in specs.items() if {"ips", "snips"} & set(spec.transforms)}
    if not weighted or propensity is None:
        return []
    notes = list(propensity.notes)
    scaled = [label for label, spec in weighted.items() if "ips" in spec.transforms or spec.parameters["clip"]]
    shares = propensity.shares
    if shares is None and propensity.outside_train:
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
    elif scaled and shares is not None and shares.by_user is not None and shares.untested:
        notes.append(
            f"{shares.untested:,} of {len(shares.by_user):,} users have too few rows for any to be held out: because "
            f"their relevant items are missing, {', '.join(scaled)} may be too low"
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
