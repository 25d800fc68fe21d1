"""Sampled metrics beside what a full ranking would have given, as far as the sampled ranks can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from trueval.data.exported_tables import Tabular
from trueval.data.json_values import Recorded, without_nan
from trueval.design.design import Design
from trueval.errors import DefinitionError, TruevalError
from trueval.evaluation.outcome import Evaluation
from trueval.facts.sampling_correction import corrected
from trueval.render.latex import latex_table, tex_comment
from trueval.render.markdown import markdown_table
from trueval.render.numbers import level_percent
from trueval.render.shown import Shown
from trueval.render.terminal import fill, plain_table, printed
from trueval.render.widths import READING_WIDTH

TITLE = "Sampled metrics, corrected: estimates of the full ranking"


@dataclass(frozen=True, slots=True)
class SampledCorrection:
    """One metric of one system: its value on the samples, and the estimate of its value in the full ranking.

    `error` is the standard error of the estimate, `bias` what the correction may be off by besides, `low` and `high`
    add both; `note` says where no correction helps.
    """

    design: str
    repeat: str  # the fold or seed, "" of one evaluation
    system: str
    metric: str
    sampled: float
    estimate: float
    error: float
    bias: float
    low: float
    high: float
    n: int
    note: str = ""


@dataclass(frozen=True)
class SampledCorrections(Tabular, Recorded, Shown):
    """Corrections of all sampled metrics that have one. Prints as a table; `notes` say which have none, and why."""

    rows: tuple[SampledCorrection, ...]
    notes: tuple[str, ...]
    level: float

    def table(self) -> pl.DataFrame:
        """One row per design, fold or seed, system and metric."""
        frame = pl.DataFrame([asdict(row) for row in self.rows], infer_schema_length=None)
        return frame.with_columns(pl.selectors.float().fill_nan(None))

    def records(self) -> list[dict[str, Any]]:
        """The rows as plain data."""
        return [without_nan(asdict(row)) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """The rows, the notes and the level of the intervals as plain data."""
        return {"corrected": self.records(), "notes": list(self.notes), "level": self.level}

    def grid(self) -> tuple[list[str], list[list[str]]]:
        """Heads and cells of the printed table; columns that say nothing here are left out."""
        several = {name: len({getattr(row, name) for row in self.rows}) > 1 for name in ("design", "repeat")}
        kept = [name for name, more in several.items() if more]
        interval = f"{level_percent(self.level)} interval"
        head = [*kept, "system", "metric", "sampled", "full ranking", interval, "error", "bias", ""]
        rows = []
        for row in self.rows:
            numbers = [f"{x:.4f}" if x == x else "–" for x in (row.sampled, row.estimate)]
            spread = [f"{x:.4f}" if x == x else "–" for x in (row.error, row.bias)]
            ends = f"[{row.low:.4f}, {row.high:.4f}]"
            cells = [*(getattr(row, name) for name in kept), row.system, row.metric, *numbers, ends, *spread]
            rows.append([*cells, "no help" if row.note else ""])
        return head, rows

    def below(self) -> list[str]:
        """What stands under the table."""
        text = "full ranking: estimated from the sampled ranks; interval: standard error (error) and the bias that may "
        lines = [text + "remain (bias) together"]
        if any(row.note for row in self.rows):
            lines.append(
                "no help: the bias that may remain is more than half of the value, because samples cannot tell the "
                "first ranks apart; rank all items, or draw larger samples"
            )
        return [*lines, *self.notes]

    def __str__(self) -> str:
        head, rows = self.grid()
        text = printed(plain_table(head, rows, align="ll" + "l" * (head.index("system")), title=TITLE))
        return text + "\n".join(fill(line, READING_WIDTH) for line in self.below()) + "\n"

    def to_markdown(self) -> str:
        """A Markdown table."""
        head, rows = self.grid()
        return f"## {TITLE}\n\n" + markdown_table(head, rows, notes=self.below())

    def to_latex(self) -> str:
        """A LaTeX table with booktabs rules."""
        head, rows = self.grid()
        return f"{tex_comment(TITLE)}\n" + latex_table(head, rows, notes=self.below())


def correct_samples(designs: Mapping[str, Mapping[str, Evaluation]], *, level: float) -> SampledCorrections:
    """Correct every sampled metric of some designs, each given as its evaluation ("") or those of its folds and seeds.

    Only designs in which one relevant item is ranked against a uniform sample can be corrected; where none is, that is
    an error.
    """
    rows: list[SampledCorrection] = []
    reasons: dict[str, str] = {}
    for design, parts in designs.items():
        if (reason := _hindrance(design)) is not None:
            reasons[design] = reason
            continue
        for repeat, evaluation in parts.items():
            rows += _of_evaluation(design, repeat, evaluation, reasons, level=level)
    if not rows:
        raise _nothing(reasons)
    return SampledCorrections(tuple(rows), tuple(f"{what}: {reason}" for what, reason in reasons.items()), level)


def check_correctable(designs: Iterable[str]) -> None:
    """Refuse designs of which none can be corrected, before anything is fitted.

    >>> check_correctable(["AR-TI-AN", "1R-TI-NN100"])
    >>> check_correctable(["AR-TI-AN"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    trueval.errors.DefinitionError: there is no sampled metric to correct
      found: AR-TI-AN: nothing is sampled
      do:    rank one relevant item against a uniform sample, ...
    """
    reasons = {design: _hindrance(design) for design in designs}
    if None not in reasons.values():
        raise _nothing({design: str(reason) for design, reason in reasons.items()})


def _nothing(reasons: Mapping[str, str]) -> DefinitionError:
    return DefinitionError(
        "there is no sampled metric to correct",
        found="; ".join(f"{what}: {reason}" for what, reason in reasons.items()),
        do="rank one relevant item against a uniform sample, for example in the design 1R-TI-NN100, and measure "
        "ndcg, recall, rr, ap, hit, precision or auc",
    )


def _hindrance(name: str) -> str | None:
    """Why a design has nothing to correct, or None."""
    try:
        design = Design.parse(name)
    except TruevalError:
        return "given lists are not sampled"
    if not design.sample:
        return "nothing is sampled"
    if design.relevant != "1R":
        return "corrections are for one relevant item per sample (1R)"
    if design.percentiles:
        return "its values are means over popularity percentiles, each of which has samples of its own"
    if design.weights == "popularity":
        return "corrections are for uniform samples"
    return None


def _of_evaluation(
    design: str, repeat: str, evaluation: Evaluation, reasons: dict[str, str], *, level: float
) -> Iterator[SampledCorrection]:
    for system, found in evaluation.systems.items():
        facts = evaluation.facts[system]
        for label in evaluation.specs:
            try:
                own = corrected(facts, label.partition("|n=")[0], level=level)
            except TruevalError as error:
                reasons.setdefault(f"{design}, {label}", error.what)
                continue
            value = found.estimates[label].value
            by_rank = evaluation.specs[label].metric.name != "auc"  # which counts equal scores as one half
            if by_rank and not abs(own.sampled - value) <= 1e-9 * max(1.0, abs(value)):
                reasons.setdefault(f"{design}, {label}", "it does not depend on the rank of one item alone")
                continue
            yield SampledCorrection(
                design, repeat, system, label, value, own.value, own.error, own.bias, own.low, own.high, own.units,
                own.note,
            )  # fmt: skip
