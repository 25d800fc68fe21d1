"""An experiment as text and as a page."""

from __future__ import annotations

import io
import math
import shlex
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console

from trueval.comparison.design_agreement import LEAST, Alike, alike_grid, alike_notes
from trueval.evaluation.outcome import part_warnings
from trueval.metrics.wording import legend_of
from trueval.render.html_elements import Section
from trueval.render.numbers import rounded
from trueval.render.terminal import console_for, escape, plain_table, say
from trueval.report.findings import listed
from trueval.report.html_audit import audited
from trueval.report.html_designs import designs_page, joined_definitions
from trueval.report.origin import Origin
from trueval.report.terminal import print_evaluation

if TYPE_CHECKING:
    from trueval.experiments.result import ExperimentResult


def text_of_experiment(result: ExperimentResult) -> str:
    """The closing text, plain."""
    out = io.StringIO()
    print_experiment(result, out)
    return out.getvalue()


def print_experiment(result: ExperimentResult, file: TextIO, *, width: int | None = None) -> None:
    """A table per design with comparisons, the agreement between designs, definitions once, and warnings."""
    console = console_for(file, width=width)
    say(console, [lead(result)])
    common, evaluations = part_warnings({design: one.evaluation for design, one in result.results.items()})
    for design, evaluation in evaluations.items():
        console.print(f"\n[bold]{escape(design)}[/]\n")
        own = result.comparisons.get(design, ())
        print_evaluation(evaluation, file=file, comparisons=own, width=width, definitions=False)
    _print_agreement(result, console)
    console.print()
    definitions = joined_definitions({design: one.manifest for design, one in result.results.items()})
    say(console, (f"{label} = {text}" for label, text in definitions.items()), style="dim")
    say(console, legend_of(definitions.values()), style="dim")
    say(console, (f"! {warning}" for warning in [*common, *result.warnings]), style="yellow")


def _print_agreement(result: ExperimentResult, console: Console) -> None:
    if len(result.results) < 2:
        return
    console.print("\n[bold]Do the designs rank the systems alike?[/]\n")
    if not result.agreement:
        console.print(f"unknown: this needs at least {LEAST} systems that two designs have in common", style="dim")
        return
    console.print(plain_table(*alike_grid(result.agreement), wrap=True))
    say(console, alike_notes(result.agreement), style="dim")


def lead(result: ExperimentResult) -> str:
    """What was done, in a sentence."""
    data = result.manifest["data"]
    splitting = result.experiment.splitting
    options = ", ".join(f"{name} {getattr(value, 'name', value)}" for name, value in splitting.options.items())
    repeats = result.manifest["repeats"]
    text = f"{data['name']}: {data['rows']:,} rows, {data['users']:,} users, {data['items']:,} items; "
    text += f"split by {splitting.how}" + (f" ({options})" if options else "")
    if len(repeats) > 1:
        text += f", {len(repeats)} times ({', '.join(repeats[:6])}{' …' if len(repeats) > 6 else ''})"
    else:
        text += f", seed {splitting.seeds[0]}"
    number = len(result.experiment.systems)
    return f"{text}; {number} system{'s' if number != 1 else ''}"


def page_of_experiment(result: ExperimentResult) -> str:
    """The report."""
    before = []
    if result.agreement:
        head, rows = alike_grid(result.agreement)
        title = "Do the designs rank the systems alike?"
        before.append(Section(title, alike_notes(result.agreement), columns=head, rows=rows))
    name = result.experiment.written.name
    return designs_page(
        {design: one.evaluation for design, one in result.results.items()},
        comparisons=result.comparisons,
        title=name.removesuffix(".toml") or "Experiment",
        lead=lead(result),
        about=_origin(result).about(),
        notes=[*agreement_sentences(result.agreement), *result.warnings],
        before=before,
        after=[_systems(result)],
        manifest=_manifest(result),
        audit=audited(result.audit),
    )


def _origin(result: ExperimentResult) -> Origin:
    """The command for the file that the experiment was read from, if any, and the data."""
    name = result.experiment.written.name
    command = f"trueval run {shlex.quote(name)}" if name.endswith(".toml") else ""
    written = result.manifest["experiment"].get("data", {})
    return Origin(
        command, tuple(str(written[key]) for key in ("path", "items", "users") if isinstance(written.get(key), str))
    )


def _manifest(result: ExperimentResult) -> dict[str, Any]:
    """What is needed to repeat the experiment, except the systems, which have a table of their own."""
    sections = result.manifest["experiment"].items()
    chosen = {
        f"[{name}]": "; ".join(f"{key} {_plain(value)}" for key, value in keys.items())
        for name, keys in sections
        if name != "systems"
    }
    words = {f"design {design}": words for design, words in result.manifest["design_words"].items()}
    return {key: result.manifest[key] for key in ("data", "version", "versions")} | chosen | words


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _systems(result: ExperimentResult) -> Section:
    baseline = result.experiment.baseline
    rows, described = [], result.manifest["systems"]
    for name, entry in result.experiment.systems.items():
        designs = [design for design, plan in result.experiment.plans.items() if name in plan.systems]
        where = "all" if len(designs) == len(result.experiment.plans) else ", ".join(designs)
        parameters = described[name].get("parameters", {})
        every = ", ".join(f"{key}={_plain(value)}" for key, value in parameters.items())
        seconds = described[name].get("fit_seconds")
        took = [] if seconds is None else seconds if isinstance(seconds, list) else [seconds]
        role = "baseline" if name == baseline else ""
        rows.append([name, entry.text, every, ", ".join(f"{one:.1f}" for one in took), where, role])
    columns = ["system", "definition", "parameters", "seconds to fit", "designs", "role"]
    return Section("The systems", columns=columns, rows=rows)


def agreement_sentences(found: list[Alike]) -> list[str]:
    """For every metric, whether all designs put the systems into the same order, and how sure that is.

    Values of a sample may be in another order although the true ones are not, and the other way around: what the
    interval of τ for the true values leaves open is said so, an end that is printed as 1 as 1.

    >>> agreement_sentences([Alike("ndcg@10", "AR-TI-AN", "1R-TI-AN", 0.21, -0.33, 0.67, 4, 0.95, 0.33)])[0][25:]
    '1R-TI-AN rank the systems differently (τ 0.33; for the true values 0.21 [−0.33, 0.67]).'
    >>> agreement_sentences([Alike("ndcg@10", "AR-TI-AN", "1R-TI-AN", 0.67, 0.0, 0.999, 3, 0.95, 0.33)])[0][25:]
    '1R-TI-AN put these values in different orders (τ 0.33), but the true orders may be the same (τ 0.67 [0.00, 1.00]).'
    >>> agreement_sentences([Alike("ndcg@10", "AR-TI-AN", "1R-TI-AN", 0.67, 0.0, 1.0, 3, 0.95, 1.0)])[0][25:]
    '1R-TI-AN put these values in the same order, but the true orders may differ (τ 0.67 [0.00, 1.00]).'
    """
    sentences = []
    for metric in dict.fromkeys(a.metric for a in found):
        own = [a for a in found if a.metric == metric]
        apart = [a for a in own if a.observed < 1]
        if not apart:
            worst = min(own, key=lambda a: a.low)
            designs = listed(list(dict.fromkeys(name for a in own for name in (a.one, a.other))))
            if not math.isnan(worst.low) and rounded(worst.low) != rounded(1.0):
                sentences.append(
                    f"On {metric}, {designs} put these values in the same order, but the true orders may differ (τ "
                    f"{worst.summary})."
                )
            else:
                sentences.append(f"On {metric}, {designs} rank the systems in the same order.")
            continue
        worst = min(apart, key=lambda a: (_may_be_one(a), a.observed, a.low))  # what is sure, first
        pair = f"On {metric}, {'at worst, ' * (len(own) > 1)}{worst.one} and {worst.other}"
        observed = f"τ {rounded(worst.observed)}"
        if _may_be_one(worst):
            orders = f"put these values in different orders ({observed}), but the true orders may be the same"
            sentences.append(f"{pair} {orders} (τ {worst.summary}).")
        else:
            true = "" if math.isnan(worst.low) else f"; for the true values {worst.summary}"
            sentences.append(f"{pair} rank the systems differently ({observed}{true}).")
    return sentences


def _may_be_one(a: Alike) -> bool:
    """Whether the interval of τ, as it is printed, reaches 1."""
    return rounded(a.high) == rounded(1.0)
