"""trueval metrics: what is measured, and how exactly."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from trueval.cli.options import bounded

if TYPE_CHECKING:
    from trueval.metrics.spec import Spec


def metrics_command(
    name: Annotated[
        str | None, typer.Argument(help="A metric, as anti(ndcg) or recall[beta=0.5]@20 (default: list all metrics).")
    ] = None,
    axioms: Annotated[
        bool,
        typer.Option(
            "--axioms", help="Check which axioms a metric (default: seven metrics) satisfies in random worlds."
        ),
    ] = False,
    worlds: Annotated[
        int, typer.Option(help="Number of random worlds in which each axiom is checked.", callback=bounded("worlds"))
    ] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the random worlds.", callback=bounded("seed"))] = 0,
    choose: Annotated[
        bool, typer.Option("--choose", help="Answer a few questions to find the metrics to use.")
    ] = False,
    answers: Annotated[
        str | None,
        typer.Option(help="With --choose: the answers, as have=lists,goal=first,k=10 (default: ask for them)."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the result and errors.")] = False,
) -> None:
    """List the metrics, or explain one: formula, parameters, range, reference, worked example.

    Examples:

      trueval metrics

      trueval metrics ndcg

      trueval metrics "anti(ndcg)"

      trueval metrics --axioms abndcg@10

      trueval metrics --choose

      trueval metrics --choose --answers have=lists,goal=one,beyond=catalogue,k=5
    """
    if choose or answers is not None:
        from trueval.cli.choose import chosen
        from trueval.errors import DefinitionError

        if name or axioms or not choose:
            raise DefinitionError("--answers belongs to --choose, which takes no metric and no --axioms")
        sys.stdout.write(chosen(answers))
        return
    if axioms:
        from trueval.metrics.axioms import check_axioms

        sys.stdout.write(
            str(check_axioms(name, worlds=worlds, seed=seed) if name else check_axioms(worlds=worlds, seed=seed))
        )
        return
    sys.stdout.write(explain(name) if name else listing())


def listing() -> str:
    """All metrics by family, one line each."""
    from trueval.calibration.metrics import POINTWISE
    from trueval.metrics.families import FAMILIES
    from trueval.metrics.registry import all_metrics

    lines = []
    for name, family in FAMILIES.items():
        lines += [family.title, ""]
        for metric in (m for m in all_metrics() if m.family == name):
            cutoff = {"required": "@k", "optional": "[@k]", "none": ""}[metric.cutoff]
            lines.append(f"  {metric.name + cutoff:<24} {metric.summary}")
        lines.append("")
    lines += ["Click probabilities, for `trueval calibrate` and tv.pointwise", ""]
    lines += [f"  {name:<24} {metric.summary}" for name, metric in POINTWISE.items()]
    lines += [
        "",
        "anti(m) inverts relevance among judged items; ips(m) and snips(m) weight relevant items by 1/propensity;",
        "recall, precision, atop and auc take beta or gamma for popularity-stratified values.",
        "One metric in full: trueval metrics ndcg; which one to use: trueval metrics --choose",
    ]
    return "\n".join(lines) + "\n"


def explain(name: str) -> str:
    """One metric in full: by its name, or as it is asked for, with transforms and parameters."""
    from trueval.metrics.registry import find, names
    from trueval.metrics.spec import Spec
    from trueval.metrics.wording import flipped

    plain = name in names()
    metric = find(name) if plain else None
    spec = (
        _as_asked(name) if metric is None else Spec(metric, None, {n: p.default for n, p in metric.parameters.items()})
    )
    metric = spec.metric
    low, high = (f"{bound:g}".replace("inf", "∞") for bound in spec.range)
    better = {"higher": "higher is better", "lower": "lower is better", "neither": "neither direction is better"}[
        spec.better
    ]
    cutoff = {"required": "@k is required", "optional": "@k is optional", "none": "no cutoff"}[metric.cutoff]
    title, summary = (metric.name, metric.summary) if plain else (str(spec), spec.summary)
    lines = [f"{title}: {summary}", "", f"  formula     {metric.formula if plain else spec.formula()}"]
    condensed = metric.formula_with({}, condensed=True) if plain else spec.formula(condensed=True)
    if metric.condensed:
        lines.append(f"  condensed   {condensed}")
    lines += [
        f"  range       {low} to {high}; {better}",
        f"  cutoff      {cutoff}",
        f"  undefined   {spec.undefined}",
        f"  by chance   {f'none: {metric.no_chance}' if metric.no_chance else 'exact expectation of a random ranking'}",
    ]
    if metric.aliases and plain:
        lines.append(f"  also called {', '.join(metric.aliases)}")
    needs = [*metric.needs, *(["propensity"] if {"ips", "snips"} & set(spec.transforms) else [])]
    if needs:
        lines.append(f"  needs       {', '.join(needs)}")
    if metric.exact:
        lines.append("  needs       the rank of every judged item (a model, not a short list)")
    for key, parameter in metric.parameters.items():
        choices = ", ".join(map(_plain, parameter.choices))
        value = _plain(spec.parameters[key])
        meaning = flipped(parameter.meaning) if "anti" in spec.transforms else parameter.meaning
        lines.append(f"  parameter   {key} = {value}" + (f" (one of {choices})" if choices else "") + f": {meaning}")
    lines += [f"  {line}" for line in signs(lines)]
    lines += [f"  reference   {metric.reference}", "", "  example", ""]
    return "\n".join(lines + [f"    {line}" for line in (_example(metric.function) if plain else _worked(spec))]) + "\n"


def _as_asked(name: str) -> Spec:
    """A metric with transforms or parameters; where only the cutoff is missing, at 10."""
    from trueval.errors import DefinitionError
    from trueval.metrics.grammar import parse

    try:
        return parse(name)
    except DefinitionError as error:
        if "@" in name or "needs a cutoff" not in error.what:
            raise
        return parse(f"{name}@10")


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def signs(lines: list[str]) -> list[str]:
    """What the signs of an explanation mean, wherever in it they stand."""
    from trueval.metrics.wording import legend_of

    return [f"signs       {words}" for words in legend_of(lines)]


def _worked(spec: Spec) -> list[str]:
    """A worked example of a metric with transforms or parameters, with the value that it gives."""
    from trueval.metrics.worked_examples import worked_example

    call, value = worked_example(spec)
    return [f">>> round({call}, 6)", f"{round(value, 6)}"]


def _example(function: object) -> list[str]:
    """The doctest of a metric, without its imports."""
    text = (inspect.getdoc(function) or "").split("\n")
    begin = next((i for i, line in enumerate(text) if line.startswith(">>>")), len(text))
    return [line for line in text[begin:] if "import" not in line]
