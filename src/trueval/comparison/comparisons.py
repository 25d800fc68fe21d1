"""All comparisons with a baseline, with the values they rest on."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, TextIO, overload

import polars as pl

from trueval.comparison.comparison import Comparison, ComparisonOptions, chosen, compare_joined
from trueval.comparison.join_results import Joined, mixing
from trueval.comparison.render_comparisons import comparisons_latex, comparisons_markdown, print_comparisons
from trueval.data.exported_tables import Tabular
from trueval.data.json_values import Recorded, without_nan
from trueval.errors import DataError
from trueval.evaluation.interval_method import RESAMPLES, IntervalMethod
from trueval.evaluation.repeats import Repeated, over_repeats
from trueval.pictures import Reported, draw
from trueval.render.shown import Shown


@dataclass(frozen=True, slots=True)
class Level:
    """A system's value: over users, or over users within seeds, then with the standard deviation over seeds."""

    system: str
    metric: str
    value: float
    low: float
    high: float
    n: int
    undefined: int = 0
    repeats: int = 1
    sd: float = float("nan")


@dataclass(frozen=True)
class Comparisons(Tabular, Recorded, Shown, Reported, Sequence[Comparison]):
    """Every other system against a baseline. Prints as a table, with a sentence for each comparison.

    >>> import trueval as tv
    >>> test = pl.DataFrame({"user": range(8), "item": range(8)})
    >>> good = test.with_columns(rank=pl.lit(1))
    >>> bad = good.with_columns(item=(pl.col("item") + (pl.col("user") < 6)) % 8)
    >>> result = tv.evaluate_run({"good": good, "bad": bad}, test, metrics="hit@1", interval="t")
    >>> print(result.compare("bad")[0].sentence)  # doctest: +NORMALIZE_WHITESPACE
    good is better than bad on hit@1 by 0.7500 [0.3333, 1.0000],
    p = 0.031 (exact sign-flip test, 8 users: too few for t).
    """

    report_kind: ClassVar[str] = "comparisons"
    rows: tuple[Comparison, ...]
    levels: tuple[Level, ...]
    baseline: str
    manifest: dict[str, Any] = field(repr=False)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> Comparison: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Comparison]: ...
    def __getitem__(self, at: int | slice) -> Comparison | Sequence[Comparison]:
        return self.rows[at]

    def __repr__(self) -> str:
        return f"<Comparisons: {len(self.rows)} with {self.baseline}>"

    def __str__(self) -> str:
        out = io.StringIO()
        self.print(out)
        return out.getvalue()

    @property
    def sentences(self) -> list[str]:
        """A sentence for each comparison."""
        return [c.sentence for c in self.rows]

    def table(self) -> pl.DataFrame:
        """One row per comparison."""
        frame = pl.DataFrame([c.record() for c in self.rows], infer_schema_length=None)
        return frame.with_columns(pl.selectors.float().fill_nan(None))

    def to_dict(self) -> dict[str, Any]:
        """The record that `trueval compare --format json` prints; undefined numbers are None."""
        systems: dict[str, Any] = {}
        for level in self.levels:
            record = {k: v for k, v in asdict(level).items() if k not in ("system", "metric")}
            if level.repeats == 1:
                del record["repeats"], record["sd"]
            systems.setdefault(level.system, {"metrics": {}})["metrics"][level.metric] = record
        comparisons = [c.record() for c in self.rows]
        return without_nan(
            {"systems": systems, "comparisons": comparisons, "manifest": self.manifest, "warnings": self.notes}
        )

    def to_markdown(self) -> str:
        """Values with marks, comparisons, and what they mean, in Markdown."""
        return comparisons_markdown(self)

    def to_latex(self) -> str:
        """Values with marks and comparisons as two booktabs tables."""
        return comparisons_latex(self)

    def plot(self, name: str = "differences", **options: Any) -> Any:
        """Draw the differences from the baseline, with intervals and verdicts.

        Parameters
        ----------
        name : text, default "differences"
            "differences".
        **options : options of the chart
            `panels`: the largest number of metrics that are drawn. Default: all.

        Returns
        -------
        Chart
            Shows itself in a notebook; `save` writes it as SVG, PDF, PNG or Vega-Lite.

        Examples
        --------
        >>> import trueval as tv
        >>> test = pl.DataFrame({"user": range(8), "item": range(8)})
        >>> runs = {name: test.with_columns(item=pl.col("item") // n, rank=1) for name, n in (("a", 1), ("b", 2))}
        >>> tv.evaluate_run(runs, test, metrics="hit@1", interval="t").compare("b").plot().title
        'Differences from b'
        """
        return draw("comparisons", self, name, options)

    def print(self, file: TextIO, *, width: int | None = None) -> None:
        """Write tables, sentences and notes; colours only on a terminal."""
        print_comparisons(self, file, width=width)


def compare_results(
    joined: Joined,
    baseline: str | None,
    *,
    metrics: Sequence[str] | None = None,
    options: ComparisonOptions | None = None,
) -> Comparisons:
    """Comparisons of joined results; without a name, the first system is the baseline."""
    options = options or ComparisonOptions()
    name = joined.names[0] if baseline is None else baseline
    rows = compare_joined(joined, name, metrics=metrics, options=options)
    labels = chosen(joined, metrics)
    levels = [level for system in joined.names for level in _levels(joined, system, labels, options.level)]
    notes = list(joined.notes)
    untested = [label for label in labels if label not in {c.metric for c in rows}]
    if not rows:
        raise DataError(
            "there is nothing to test",
            found=f"{', '.join(untested)}: neither values of single users nor an interval",
            do="evaluate with an interval, or compare on other metrics",
        )
    if untested:
        notes.append(f"not compared, since they have no interval or are over different users: {', '.join(untested)}")
    if len(joined.repeats) > 1:
        notes.append(_repeats_note(joined))
    manifest = {**joined.manifest, "comparison": {"baseline": name, **asdict(options)}}
    return Comparisons(tuple(rows), tuple(levels), name, manifest, notes)


def _repeats_note(joined: Joined) -> str:
    labels = [", ".join(f"{key} {value}" for key, value in part.label.items()) for part in joined.repeats]
    text = f"{len(labels)} repeats: {'; '.join(labels)}"
    folds = any("split.fold" in part.label for part in joined.repeats)
    return text + (". Folds share train rows: their spread understates that of new data" if folds else "")


def _levels(joined: Joined, name: str, labels: Sequence[str], level: float) -> Iterator[Level]:
    """Values of one system; over seeds, the mean with its nested interval."""
    parts = joined.having(name)
    own, mixed = [part.systems[name] for part in parts], mixing(parts)
    for label in labels:
        found = [system.estimates[label] for system in own]
        n, undefined = max(e.n for e in found), max(e.undefined for e in found)
        if len(own) == 1:
            yield Level(name, label, found[0].value, found[0].low, found[0].high, n, undefined)
            continue
        e = over_repeats(own, label, joined.specs[label], IntervalMethod("nested", 0, RESAMPLES, level), mixed)
        sd = Repeated.of(mixed @ [one.value for one in found]).sd
        yield Level(name, label, e.value, e.low, e.high, n, undefined, len(own), sd)
