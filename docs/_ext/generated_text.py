"""Text that is made from the registries: metrics, systems, designs, presets, the choice of a metric.

A page asks for it with a block `{generated} WORD ARGUMENT`; the words are the keys of `GENERATORS`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from system_examples import example


def generate(words: Sequence[str]) -> str:
    """The text for a block: `["metrics", "accuracy"]`."""
    return GENERATORS[words[0]](*words[1:]).rstrip() + "\n"


def cell(text: object) -> str:
    """Text in a cell of a Markdown table, where a bar would end the cell."""
    return re.sub(r"(?<!\\)([|*_<\[\]])", r"\\\1", str(text)).replace("\n", " ")


def code(text: object) -> str:
    """Text as code, also in a cell of a table."""
    return "`" + str(text).replace("|", "\\|") + "`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def plain(value: object) -> str:
    """A value of a parameter as it is written in a metric."""
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


# ---- metrics -----------------------------------------------------------------------------------------------------


def metrics(family: str) -> str:
    """All metrics of a family, each with a section of its own."""
    from trueval.metrics.registry import all_metrics

    return "\n".join(_metric(metric) for metric in all_metrics() if metric.family == family)


def _metric(metric: Any) -> str:
    low, high = (plain(float(bound)).replace("inf", "∞") for bound in metric.range)
    better = {"higher": "higher is better", "lower": "lower is better", "neither": "neither direction is better"}
    cutoff = {"required": "required", "optional": "optional", "none": "none"}[metric.cutoff]
    rows = [["formula", code(metric.formula)]]
    rows += [["on condensed rankings", code(metric.formula_with({}, condensed=True))]] if metric.condensed else []
    rows += [
        ["range", f"{low} to {high}; {better[metric.better]}"],
        ["cutoff `@k`", cutoff],
        ["undefined", cell(metric.undefined) or "never"],
        ["by chance", _chance(metric)],
        ["value", "one for the whole system" if metric.system else "one for each user, then the mean"],
    ]
    rows += [["also called", ", ".join(map(code, metric.aliases))]] if metric.aliases else []
    rows += [["needs", cell(", ".join(_NEEDS[need] for need in metric.needs))]] if metric.needs else []
    rows += [["needs", "the rank of every judged item: a model, not a short list"]] if metric.exact else []
    rows += [[f"parameter `{name}`", _parameter(one)] for name, one in metric.parameters.items()]
    rows += [["reference", cell(metric.reference)]]
    text = f"(metric-{metric.name})=\n## {metric.name}\n\n{cell(metric.summary)}\n\n{table(['', ''], rows)}\n"
    text += "".join(f"{line}\n\n" for line in _elsewhere(metric))
    return text + f"```python\n{_example(metric.function)}\n```\n"


_NEEDS = {
    "aspects": "aspects of items (`--items`)",
    "interest": "the interests of users, from their train rows (`--train`) or test rows",
    "targets": "the items that could be ranked",
    "popularity": "a train log (`--train`)",
    "positives": "a train log (`--train`)",
    "train": "a train log (`--train`)",
    "features": "features or aspects of items (`--items`)",
}


def _parameter(one: Any) -> str:
    choices = f"; one of {', '.join(code(plain(c)) for c in one.choices)}" if one.choices else ""
    limits = [f"from {one.low:g}"] * (one.low > float("-inf")) + [f"to {one.high:g}"] * (one.high < float("inf"))
    allowed = choices or (f"; {' '.join(limits)}" if limits else "")
    return f"{cell(one.meaning)}; default {code(plain(one.default))}{allowed}"


def _chance(metric: Any) -> str:
    if metric.no_chance:
        return f"none: {cell(metric.no_chance)}"
    name, value = _chances()[metric.name]
    return f"exact expectation of a random ranking; {code(name)} of the textbook user: {value:.4f}"


@cache
def _chances() -> dict[str, tuple[str, float]]:
    """The values by chance of one user: relevant B, C, E and G, disliked D and H, of the ten items A to J."""
    import polars as pl

    import trueval as tv
    from trueval.metrics.registry import all_metrics

    items = list("ABCDEFGHIJ")
    value = {"B": 5.0, "C": 5.0, "E": 5.0, "G": 5.0, "D": 1.0, "H": 1.0}
    test = pl.DataFrame({"user": ["u"] * len(value), "item": list(value), "value": list(value.values())})
    run = pl.DataFrame({"user": ["u"] * 10, "item": items, "score": [float(s) for s in range(10, 0, -1)]})
    wanted = {m.name: m.name + ("" if m.cutoff == "none" else "@5") for m in all_metrics() if not m.no_chance}
    result = tv.evaluate_run(
        run, test, items=pl.DataFrame({"item": items}), metrics=list(wanted.values()), threshold=4, interval="none"
    )
    return {name: (spec, float(result.random[spec])) for name, spec in wanted.items()}


def _elsewhere(metric: Any) -> list[str]:
    """How other libraries define it, where that differs."""
    from trueval.evaluation.compat import PRESETS

    lines = []
    for library, preset in PRESETS.items():
        changed, uncut = preset.parameters.get(metric.name), preset.uncut.get(metric.name)
        said = [f"`{metric.name}{_shown(changed)}`"] if changed else []
        said += [f"`{metric.name}{_shown(uncut)}` without a cutoff"] if uncut else []
        said += ["counts all positive values, whatever the threshold"] if metric.name in preset.levelless else []
        if metric.name in preset.refused:
            said.append(f"refused, for no parameter makes it equal: {cell(preset.refused[metric.name])}")
        if said:
            lines.append(f"`--compat {library}`: {', '.join(said)}.")
    if not lines:
        return ["Other libraries: no preset of `--compat` changes its definition. [What presets change](../compat.md)."]
    rest = "The other presets leave its definition as it is." if len(lines) < len(PRESETS) else ""
    return ["Other libraries: " + " ".join([*lines, rest]).rstrip()]


def _shown(parameters: Mapping[str, Any]) -> str:
    return "[" + ",".join(f"{name}={plain(value)}" for name, value in parameters.items()) + "]"


def _example(function: Callable[..., Any]) -> str:
    """The doctest of a function."""
    lines = (inspect.getdoc(function) or "").split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith(">>>"))
    return "\n".join(lines[begin:]).rstrip()


def pointwise() -> str:
    """Metrics of click probabilities."""
    from trueval.calibration.metrics import POINTWISE

    text = ""
    for one in POINTWISE.values():
        low, high = (plain(float(bound)).replace("inf", "∞") for bound in one.range)
        rows = [["formula", code(one.formula)], ["range", f"{low} to {high}; {one.better} is better"]]
        rows += [["undefined", cell(one.undefined)]] if one.undefined else []
        rows += [[f"parameter `{name}`", _parameter(p)] for name, p in one.parameters.items()]
        rows += [["reference", cell(one.reference)]]
        text += f"## {one.name}\n\n{cell(one.summary)}\n\n{table(['', ''], rows)}\n"
    return text


def metric_index() -> str:
    """One line per metric, with a link."""
    from trueval.metrics.families import FAMILIES
    from trueval.metrics.registry import all_metrics

    text = ""
    for name, family in FAMILIES.items():
        rows = [[f"[{m.name}](#metric-{m.name})", cell(m.summary)] for m in all_metrics() if m.family == name]
        text += f"**{family.title}**\n\n{table(['metric', ''], rows)}\n"
    return text


# ---- systems, splits, designs, presets ---------------------------------------------------------------------------


def systems() -> str:
    """All systems, each with a section of its own."""
    from trueval.recommenders.registry import find
    from trueval.recommenders.registry import systems as names

    text = ""
    for system in map(find, names()):
        needs = {"values": "a value column", "rows": "a train log", None: "nothing"}[system.needs]
        rows = [["objective", code(system.objective)]]
        rows += [["needs", needs + (" and the test part: it is an oracle" if system.oracle else "")]]
        rows += [["lists", "for each user" if system.personalised else "the same for everybody"]]
        for one in system.parameters.values():
            allowed = f"; {one.allowed}" if one.allowed else ""
            rows.append(
                [f"parameter `{one.name}`", f"{cell(one.meaning)}; default {code(plain(one.default))}{cell(allowed)}"]
            )
        rows += [["caution", cell(system.caution)]] if system.caution else []
        rows += [["reference", cell(system.reference)]]
        text += f"(system-{system.name})=\n## {system.name}\n\n{cell(system.summary)}\n\n{table(['', ''], rows)}\n"
        text += f"{example(system.name)}\n"
    return text


def designs() -> str:
    """Every word of designs with its meaning and a picture."""
    from trueval.design.words import WORDS

    text = ""
    for decides in dict.fromkeys(one.decides for one in WORDS):
        text += f"## {decides[0].upper()}{decides[1:]}\n\n"
        for one in (word for word in WORDS if word.decides == decides):
            text += f"### {one.word}\n\n{one.means[0].upper()}{one.means[1:]}.\n\n"
            text += f"```{{run}}\ntrueval designs {one.example}\n```\n\n"
    return text


def presets() -> str:
    """What each preset changes."""
    from trueval.evaluation.compat import PRESETS
    from trueval.facts.tie_rules import MEANINGS

    text = ""
    for library, preset in PRESETS.items():
        rows = [["averages over", f"users of the population `{preset.population}`" + _listed(preset)]]
        rows += [["undefined values", "count as 0" if preset.empty_is_zero else "are left out"]]
        ties = cell(MEANINGS[preset.ties]) if preset.ties else "random, as by default"
        rows += [["equal scores in given lists", ties]]
        rows += [[code(m), code(m + _shown(p))] for m, p in preset.parameters.items()]
        rows += [[f"{code(m)} without a cutoff", code(m + _shown(p))] for m, p in preset.uncut.items()]
        rows += [[code(m), "counts all positive values, whatever the threshold"] for m in sorted(preset.levelless)]
        rows += [[code(m), f"refused: {cell(why)}"] for m, why in preset.refused.items()]
        text += f"(preset-{library})=\n## {library}\n\n{table(['', ''], rows)}\n"
    return text


def preset(library: str) -> str:
    """What one preset changes, without a heading."""
    text = presets()
    return text.split(f"## {library}\n\n")[1].split("\n(preset-")[0]


def _listed(preset: Any) -> str:
    if "*" in preset.listed:
        return " who have a list"
    return f"; for {', '.join(map(code, sorted(preset.listed)))} those who have a list" if preset.listed else ""


# ---- charts ------------------------------------------------------------------------------------------------------

_RECORDS = {
    "result": "a result: `result.plot(name)`",
    "comparisons": "comparisons: `tv.compare(…).plot()`",
    "agreement": "agreement: `result.agreement().plot()`",
    "ab_test": "an A/B test: `tv.ab_test(…).plot(name)`",
    "study": "a user study: `tv.study_analysis(…).plot(name)`",
    "ope": "off-policy estimates: `tv.ope(…).plot()`",
    "calibration": "a calibration: `tv.calibrate(…).plot()`",
    "item_pairs": "pairs of items: `tv.item_pairs(…).plot()`",
    "popularity_curve": "popularity: `tv.popularity_curve(…).plot()`",
    "robustness": "robustness of an order: `tv.audit(…).robustness.plot()`",
    "simulated_designs": 'a world like a log: `tv.audit(…, simulate=True).measured["simulated_designs"].plot()`',
    "sparsity": "sparsity: `tv.sparsity(…).plot()`",
    "trajectory": "a feedback loop, or snapshots: `tv.feedback_loop(…).plot(name)`",
    "pointwise": "click probabilities: `tv.pointwise(…).plot()`",
}


def charts() -> str:
    """Which charts there are, of what, and what each needs."""
    from trueval.charts.offered import OFFERS

    rows = [[_RECORDS[kind], code(name), cell(one.needs)] for kind, own in OFFERS.items() for name, one in own.items()]
    return table(["of", "name", "needs"], rows)


# ---- which metric ------------------------------------------------------------------------------------------------


def choosing() -> str:
    """The questions of `trueval metrics --choose`, their answers and the metrics for each."""
    from trueval.metrics.choosing import QUESTIONS, RULE, WHOLE_RANKING

    text = ""
    for question in QUESTIONS:
        rows = [
            [cell(answer.says), code(f"{question.word}={answer.word}"), _leads_to(question, answer)]
            for answer in question.answers
        ]
        asked = f" Asked of those who have `{'`, `'.join(question.have)}`." if question.have else ""
        text += f"## {question.asks}\n\n{asked}\n\n{table(['answer', 'option', 'metrics'], rows)}\n"
    text += f"With a model there is also {_reasons(WHOLE_RANKING)}.\n\n{RULE}\n"
    return text


def _leads_to(question: Any, answer: Any) -> str:
    from trueval.metrics.choosing import choose, questions_for

    if answer.metrics:
        return _reasons(answer.metrics)
    if question.word != "have":
        return "none more"
    if questions_for(answer.word):
        return "as the next questions say"
    return code(choose({"have": answer.word}).command)


def _reasons(metrics: Mapping[str, str]) -> str:
    return "; ".join(f"{code(name)}: {cell(why)}" for name, why in metrics.items())


# ---- files of the repository ---------------------------------------------------------------------------------------

_ROOT = Path(__file__).parents[2]
_PAGES = {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}


def file(name: str) -> str:
    """A file beside the README as a page: links to other such pages lead there, other relative links are words."""

    def linked(found: re.Match[str]) -> str:
        path, hash_, anchor = found["to"].partition("#")
        if "://" in found["to"]:
            return found[0]
        return f"[{found['text']}]({_PAGES[path]}{hash_}{anchor})" if path in _PAGES else f"`{path}`"

    return re.sub(r"\[(?P<text>[^\]]+)\]\((?P<to>[^)\s]+)\)", linked, (_ROOT / name).read_text(encoding="utf-8"))


GENERATORS: dict[str, Callable[..., str]] = {
    "metrics": metrics,
    "pointwise": pointwise,
    "metric-index": metric_index,
    "systems": systems,
    "designs": designs,
    "presets": presets,
    "preset": preset,
    "charts": charts,
    "choosing": choosing,
    "file": file,
}
