"""How far from the truth designs and metrics are in a world like the reader's: the record, its sentences and tables."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from trueval.audit.sentences import counted, listed
from trueval.data.exported_tables import Tabular
from trueval.data.json_values import without_nan
from trueval.pictures import draw
from trueval.render.numbers import number, rounded
from trueval.render.shown import Shown
from trueval.render.terminal import plain_table, printed
from trueval.simulation.fit_table import FitTable
from trueval.statistics.student import t_quantile

_SHOWN = 12  # settings in a table for people
_FEWEST = 3  # logs that tell whether one setting is nearer than another


@dataclass(frozen=True, slots=True)
class SimulatedSetting:
    """One metric under one design, over logs drawn anew.

    `bias` is the mean over systems and logs of measured minus true values, and NaN where a value has a meaning of its
    own (one relevant item at a time); `sd` the standard deviation over logs, the mean of the systems; `tau` has
    Kendall's τ with the true order for each log.
    """

    design: str
    metric: str
    measured: float
    true: float
    bias: float
    sd: float
    tau: tuple[float, ...]

    @property
    def name(self) -> str:
        """Design and metric."""
        return f"{self.design} {self.metric}"

    @property
    def mean_tau(self) -> float:
        """The mean over logs in which it is defined."""
        known = [one for one in self.tau if not math.isnan(one)]
        return float(np.mean(known)) if known else math.nan

    @property
    def tau_interval(self) -> tuple[float, float]:
        """A 95 % interval of the mean, from the logs; NaN for one log."""
        return _interval(np.array(self.tau))


@dataclass(frozen=True)
class SimulatedDesigns(Tabular, Shown):
    """Settings in a world like the reader's, the reader's own first, and how well the world fits.

    Examples
    --------
    >>> import trueval as tv
    >>> log = tv.simulate("world", users=80, items=60, ratings=1500, seed=1).log
    >>> found = tv.audit(tv.split(log, "holdout"), ["popularity", "average"], threshold=4, simulate=2)
    >>> record = found.measured["simulated_designs"]
    >>> record.settings[0].design, len(record.settings[0].tau)
    ('AR-TI-AN', 2)
    """

    settings: tuple[SimulatedSetting, ...]
    systems: tuple[str, ...]
    order_by: str  # the metric by whose true values systems are ordered
    logs: int
    size: tuple[int, int, int]  # users, items and rows of the world
    fit: FitTable = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def own(self) -> SimulatedSetting:
        """The reader's design and first metric."""
        return self.settings[0]

    @property
    def by_order(self) -> list[SimulatedSetting]:
        """The settings, nearest to the true order first."""
        known = [one for one in self.settings if not math.isnan(one.mean_tau)]
        return sorted(known, key=lambda one: -one.mean_tau)

    def nearer(self, one: SimulatedSetting) -> tuple[float, float, float]:
        """By how much τ of a setting is above that of the reader's, paired over logs.

        With an interval that holds at 95 % for all settings together (Bonferroni's correction), unknown for fewer than
        three logs: the nearest of many is chosen on these logs.
        """
        apart = np.array(one.tau) - np.array(self.own.tau)
        known = apart[~np.isnan(apart)]
        value = float(known.mean()) if len(known) else math.nan
        if len(known) < _FEWEST:
            return value, math.nan, math.nan
        return (value, *_interval(apart, level=1 - 0.05 / max(1, len(self.settings) - 1)))

    def table(self) -> pl.DataFrame:
        """One row per design and metric: measured and true mean, bias, sd, tau with its interval."""
        rows = [
            (one.design, one.metric, one.measured, one.true, one.bias, one.sd, one.mean_tau, *one.tau_interval)
            for one in self.settings
        ]
        names = ("measured", "true", "bias", "sd", "tau", "tau_low", "tau_high")
        schema = {"design": pl.String, "metric": pl.String, **dict.fromkeys(names, pl.Float64)}
        return pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        found: dict[str, Any] = without_nan({
            "systems": list(self.systems), "order_by": self.order_by, "logs": self.logs,
            "users": self.size[0], "items": self.size[1], "rows": self.size[2],
            "settings": self.table().to_dicts(), "fit": self.fit.table().to_dicts(), "sentences": self.sentences(),
        })  # fmt: skip
        return found

    def sentences(self) -> list[str]:
        """What the reader should know, most important first."""
        own, users = self.own, self.size
        world = (
            f"In a world like yours ({users[0]:,} users, {users[1]:,} items, {users[2]:,} ratings), observed "
            f"{counted(self.logs, 'time')} anew, {listed(self.systems)} are measured on logs split as yours"
        )
        far = ""
        if not math.isnan(own.bias):
            far = f"{own.name} is {number(own.measured)} on average where {number(own.true)} is true "
            far += f"(bias {_signed(own.bias)}), "
        spread = "" if math.isnan(own.sd) else f"varies by {number(own.sd)} from log to log (SD), and "
        order = f"orders the systems with τ = {_tau(own)} to their true order by {self.order_by}"
        return [f"{world}: {far}{spread}{order}.", self._advice(), *self.notes]

    def _advice(self) -> str:
        """Which settings are nearer to the true order; not where the world orders systems otherwise than the log."""
        if self.fit.systems is None or not self.fit.systems.reversals:
            return self._nearest()
        orders = [f"{first} above {second}" for _, first, second in self.fit.systems.reversals]
        return (
            "This world does not tell which setting is nearer to the truth: on rows that it was not fitted to, your "
            f"log has {listed(orders)}, and the world has not."
        )

    def _nearest(self) -> str:
        best = [one for one in self.by_order if one.name != self.own.name]
        sure = [one for one in best if self.nearer(one)[1] > 0]
        if sure:
            told = [f"{one.name} (τ = {_tau(one)})" for one in sure[:3]]
            return f"Nearer to the true order in this world, of {len(best):,} other settings: {listed(told)}."
        if best and best[0].mean_tau > self.own.mean_tau:
            return (
                f"No setting is shown to be nearer to the true order; the highest τ is that of {best[0].name}, "
                f"{_tau(best[0])}."
            )
        return "No setting is nearer to the true order than yours."

    def grid(self, *, most: int = _SHOWN) -> tuple[list[str], list[list[str]]]:
        """Columns and rows as people read them: the reader's own, then those nearest to the true order."""
        chosen = [self.own, *(one for one in self.by_order if one.name != self.own.name)][:most]
        rows = [
            [
                one.design, one.metric, number(one.measured), "–" if math.isnan(one.bias) else number(one.true),
                "–" if math.isnan(one.bias) else _signed(one.bias), "–" if math.isnan(one.sd) else number(one.sd),
                _tau(one),
            ]
            for one in chosen
        ]  # fmt: skip
        return ["design", "metric", "measured", "true", "bias", "SD", "τ with the true order"], rows

    def plot(self, name: str = "simulated_designs", **options: Any) -> Any:
        """Draw Kendall's τ with the true order, by design and metric."""
        return draw("simulated_designs", self, name, options)

    def __str__(self) -> str:
        columns, rows = self.grid()
        title = f"Yours, and those nearest to the true order by {self.order_by}"
        text = "".join(f"{line}\n" for line in self.sentences())
        text += printed(plain_table(columns, rows, align="ll", title=title))
        return f"{text}How well the world fits\n{self.fit}"


def _signed(value: float) -> str:
    return number(value, sign=True)


def _tau(one: SimulatedSetting) -> str:
    low, high = one.tau_interval
    if math.isnan(one.mean_tau):
        return "undefined"
    ends = "" if math.isnan(low) or low == high else f" [{rounded(max(low, -1.0))}, {rounded(min(high, 1.0))}]"
    return f"{rounded(one.mean_tau)}{ends}"


def _interval(values: np.ndarray, *, level: float = 0.95) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return math.nan, math.nan
    mean, error = float(known.mean()), float(known.std(ddof=1)) / math.sqrt(len(known))
    reach = t_quantile(level=level, freedom=len(known) - 1) * error
    return mean - reach, mean + reach
