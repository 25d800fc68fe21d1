"""How well the log covers the target policy: weights, effective sample size, items it never showed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueval.online.ope.intervals import Ratios
from trueval.online.ope.log_rows import LogRows, target_mass
from trueval.online.ope.policy import Policy
from trueval.online.ope.weights import PositionWeights
from trueval.render.numbers import percent

_ALARM = 1.7  # half widths of a 95 % interval: one false alarm in a thousand
FEW = 100  # effective rows below which no estimate should carry a decision
_FEW_REWARDED = 10


@dataclass(frozen=True)
class Support:
    """Diagnostics of the weights. A few large ones mean few effective rows; their mean should be 1."""

    rows: int
    clusters: int
    effective: float
    rewarded: float  # effective rows among those that earned something
    mean: float  # of the weights, 1 if propensities and support are right
    mean_low: float
    mean_high: float
    largest: float
    top_share: float  # of the weight, held by the largest 1 % of rows
    zero: float  # share of rows whose item the target policy never shows
    clip: float | None
    clipped: float  # share of rows whose weight the clip cuts
    removed: float  # share of the weight that it removes
    unsupported: float | None  # target probability of items that the log never shows
    unsupported_here: float | None  # the same, item and position taken together
    unsupported_items: tuple[object, ...] = ()  # with the most target probability, five at most

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @property
    def doubts(self) -> list[tuple[bool, str]]:
        """Why estimates by weighting may mislead: whether it is grave, and in words."""
        found = []
        if self.effective == 0:
            found.append(
                (True, "no row of the log shows what the target policy shows: weighted estimates are undefined")
            )
            return found
        if self.effective < FEW:
            found.append((True, f"{self._sample_size} under the target policy"))
        elif self.effective < 0.1 * self.rows:
            share = self.effective / self.rows
            found.append((False, f"{self._sample_size} ({percent(share)})"))
        lacking = self.unsupported_here or 0.0
        if lacking > 1e-9:
            where = "" if self.unsupported and self.unsupported > lacking * 0.999 else " at that position"
            what = (
                f"the target policy shows items that the log never shows{where} with probability {percent(lacking, 2)}"
            )
            some = ", ".join(map(str, self.unsupported_items))
            found.append((lacking > 0.05, what + (f" (e.g. {some})" if some else "")))
        if abs(self.mean - 1) > _ALARM * (self.mean_high - self.mean_low) / 2 and self.mean_high > self.mean_low:
            what = f"the mean weight is {self.mean:.3f} [{self.mean_low:.3f}, {self.mean_high:.3f}], not 1"
            off = abs(self.mean - 1)
            found.append((off > 0.1 + lacking, what + ": propensities or target probabilities do not fit the log"))
        if self.rewarded < _FEW_REWARDED:
            found.append((False, f"the effective number of rewarded rows is {self.rewarded:,.0f}: intervals are rough"))
        if self.top_share > 0.5 and self.rows >= 200:
            found.append((False, f"1 % of the rows carry {percent(self.top_share, 0)} of the total weight"))
        return found

    @property
    def _sample_size(self) -> str:
        return f"the effective sample size (ESS) is {self.effective:,.0f} of {self.rows:,} rows"


def support(rows: LogRows, policy: Policy, part: PositionWeights, clip: float | None, *, level: float) -> Support:
    """Diagnostics of the weights of all rows."""
    w = part.weight * part.norm
    total = float(w.sum())
    top = np.sort(w)[::-1][: max(1, len(w) // 100)]
    cut = part.weight if clip is None else np.minimum(part.weight, clip)
    mean = Ratios.of([w], [np.ones(len(w))], cluster=rows.cluster)
    low, high = mean.t_interval(level)
    heavy = float(part.weight.sum())
    return Support(
        rows=len(rows),
        clusters=rows.clusters,
        effective=_effective(w),
        rewarded=_effective(w * np.abs(rows.reward)),
        mean=mean.value,
        mean_low=low,
        mean_high=high,
        largest=float(part.weight.max()),
        top_share=float(top.sum()) / total if total > 0 else math.nan,
        zero=float((w == 0).mean()),
        clip=clip,
        clipped=float((cut < part.weight).mean()),
        removed=1 - float(cut.sum()) / heavy if heavy > 0 else 0.0,
        **_unsupported(rows, policy),
    )


def _effective(w: np.ndarray) -> float:
    """How many equal weights would be worth as much: (Σw)² / Σw²."""
    if not w.any():
        return 0.0
    scaled = w / w.max()  # squares of tiny numbers would vanish
    return float(scaled.sum()) ** 2 / float((scaled**2).sum())


def _unsupported(rows: LogRows, policy: Policy) -> dict[str, Any]:
    if policy.table is None:
        return {"unsupported": None, "unsupported_here": None}
    mass = target_mass(rows, policy)
    missing = np.where(rows.exposures == 0, mass, 0.0).sum(axis=1)
    never = rows.exposures.sum(axis=1) == 0
    worst = np.argsort(-missing, kind="stable")[:5]
    worst = worst[missing[worst] > 0]
    return {
        "unsupported": float(mass[never].sum()),
        "unsupported_here": float(missing.sum()),
        "unsupported_items": tuple(rows.items.decode(worst).to_list()),
    }


def trust(diagnostics: Support) -> str:
    """One word on how far weighted estimates can be trusted: undefined, no, with care, yes."""
    doubts = diagnostics.doubts
    if diagnostics.effective == 0:
        return "undefined"
    if any(grave for grave, _ in doubts):
        return "no"
    return "with care" if doubts else "yes"
