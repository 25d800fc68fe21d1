"""Which charts each kind of record offers, under which names, and what each of them needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trueval.arguments import checked
from trueval.calibration.calibrate import Calibration
from trueval.calibration.pointwise import Pointwise
from trueval.charts.ab_days import ab_days_chart
from trueval.charts.ab_effects import ab_effects_chart
from trueval.charts.ab_groups import ab_groups_chart
from trueval.charts.agreement import agreement_chart
from trueval.charts.chart import Chart
from trueval.charts.cutoffs import cutoffs_chart
from trueval.charts.differences import differences_chart
from trueval.charts.false_positives import false_positives_chart
from trueval.charts.groups import groups_chart
from trueval.charts.item_pairs import item_pairs_chart
from trueval.charts.ope_estimates import ope_estimates_chart
from trueval.charts.popularity import popularity_chart
from trueval.charts.popularity_curve import popularity_curve_chart
from trueval.charts.reliability import reliability_chart
from trueval.charts.robustness import discriminative_power_chart, fewer_judgements_chart, settings_chart
from trueval.charts.simulated_designs import simulated_designs_chart
from trueval.charts.sparsity import sparsity_chart
from trueval.charts.study import answers_chart, first_places_chart, positions_chart, strengths_chart
from trueval.charts.tradeoff import tradeoff_chart
from trueval.charts.trajectory import exposure_chart, trajectory_chart
from trueval.charts.users import users_chart
from trueval.errors import DefinitionError, suggest


@dataclass(frozen=True, slots=True)
class Offer:
    """A chart: the function that makes it, and what a record must have for it."""

    make: Callable[..., Chart]
    needs: str
    take: Callable[[Any], Any] = lambda record: record  # what the function takes of the record


def _evaluation(result: Any) -> Any:
    """Of a result; pages have the evaluation alone."""
    return getattr(result, "evaluation", result)


def _compared(result: Any, **options: Any) -> Chart:
    """Of a result, which makes the comparisons itself: all options are those of `compare`."""
    if len(result.evaluation.systems) < 2:
        raise DefinitionError(
            "the chart of differences needs at least two systems",
            found=", ".join(result.evaluation.systems),
            do="evaluate another system beside it",
        )
    return differences_chart(result.compare(**options))


def _calibrated(found: Calibration, *, bins: int = 10, by: str = "mass") -> Chart:
    before = {"before": found.before} if found.calibrator.input == "probability" else {}  # scores have no diagram
    sides = {**before, "after": found.after}
    return reliability_chart({name: side.reliability(bins=bins, by=by) for name, side in sides.items()})


def _predicted(found: Pointwise, *, bins: int = 10, by: str = "mass") -> Chart:
    if not found.data.are_probabilities:
        raise DefinitionError(
            "a reliability diagram needs probabilities",
            found="predictions outside of 0 to 1",
            do="calibrate them: tv.calibrate(…)",
        )
    return reliability_chart({"as given": found.reliability(bins=bins, by=by)})


OFFERS: dict[str, dict[str, Offer]] = {
    "result": {
        "differences": Offer(_compared, "two systems or more"),
        "cutoffs": Offer(cutoffs_chart, "a metric at several cutoffs", _evaluation),
        "users": Offer(users_chart, "a metric with a value for each user", _evaluation),
        "popularity": Offer(popularity_chart, "lists as they were recommended", _evaluation),
        "tradeoff": Offer(tradeoff_chart, "an accuracy metric and one beyond accuracy", _evaluation),
        "false_positives": Offer(false_positives_chart, "precision and antiprecision at one cutoff", _evaluation),
        "groups": Offer(groups_chart, "an evaluation by=…", _evaluation),
    },
    "comparisons": {"differences": Offer(differences_chart, "two systems or more")},
    "agreement": {"agreement": Offer(agreement_chart, "three systems or more")},
    "ab_test": {
        "ab_effects": Offer(ab_effects_chart, "any test"),
        "ab_days": Offer(ab_days_chart, "a column of times, and a conversion, a mean or a ratio"),
        "ab_groups": Offer(ab_groups_chart, "segments=…"),
    },
    "study": {
        "strengths": Offer(strengths_chart, "rankings, or choices between two lists, whose order is known"),
        "first_places": Offer(first_places_chart, "rankings whose order is known"),
        "answers": Offer(answers_chart, "answers on scales whose order is known"),
        "positions": Offer(positions_chart, "answers with positions"),
    },
    "ope": {"ope_estimates": Offer(ope_estimates_chart, "any log")},
    "calibration": {"reliability": Offer(_calibrated, "any calibration")},
    "item_pairs": {"item_pairs": Offer(item_pairs_chart, "ratings")},
    "popularity_curve": {"popularity_curve": Offer(popularity_curve_chart, "any log")},
    "robustness": {
        "settings": Offer(settings_chart, "three systems or more"),
        "discriminative_power": Offer(discriminative_power_chart, "three systems or more"),
        "fewer_judgements": Offer(fewer_judgements_chart, "three systems or more, and their ranks"),
    },
    "simulated_designs": {"simulated_designs": Offer(simulated_designs_chart, "an audit with simulate=True")},
    "sparsity": {"sparsity": Offer(sparsity_chart, "facts of any system")},
    "trajectory": {
        "trajectory": Offer(trajectory_chart, "any rounds or snapshots"),
        "exposure": Offer(exposure_chart, "groups of items, by=…"),
    },
    "pointwise": {"reliability": Offer(_predicted, "predictions that are probabilities")},
}  # fmt: skip


def offered(kind: str, record: Any, name: str | None, options: Mapping[str, Any]) -> Chart:
    """Make one of the charts of a kind of record; a name or an option that there is not lists those that there are.

    >>> import trueval as tv
    >>> import polars as pl
    >>> test = pl.DataFrame({"user": [1], "item": ["a"]})
    >>> result = tv.evaluate_run(test.with_columns(rank=1), test, metrics="hit@1", interval="none")
    >>> offered("result", result, "userz", {})
    Traceback (most recent call last):
    trueval.errors.DefinitionError: there is no chart 'userz'
      found: 'userz'; did you mean users?
      do:    differences (needs two systems or more)
             cutoffs (needs a metric at several cutoffs)
             users (needs a metric with a value for each user)
             popularity (needs lists as they were recommended)
             tradeoff (needs an accuracy metric and one beyond accuracy)
             false_positives (needs precision and antiprecision at one cutoff)
             groups (needs an evaluation by=…)
    """
    known = OFFERS[kind]
    if name is None:
        name = next(iter(known))
    if not isinstance(name, str) or name not in known:
        likely = suggest(name, known) if isinstance(name, str) else ""
        found = f"{name!r}; {likely}" if likely.startswith("did you mean") else repr(name)
        needs = "\n".join(f"{one} (needs {offer.needs})" for one, offer in known.items())
        raise DefinitionError(f"there is no chart {name!r}", found=found, do=needs)
    offer = known[name]
    own = inspect.signature(offer.make).parameters.values()
    if all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in own):
        taken = [p.name for p in own if p.kind is inspect.Parameter.KEYWORD_ONLY]
        for option in options:
            if option not in taken:
                do = f"it takes {', '.join(taken)}" if taken else "it takes no options"
                raise DefinitionError(f"the chart {name} has no option {option!r}", do=do)
    return checked(offer.make)(offer.take(record), **options)
