"""The tables and the page of the operating figures, from the records of all audits."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

import trueval
from coverage_other import table
from operating_figures import EFFECTS, LEVELS
from planted_clean import CLEAN
from planted_faults import FAULTS, Fault
from planted_worlds import GENERATORS, METRIC
from trueval.statistics.binomial import clopper_pearson

Records = Sequence[dict[str, Any]]


def share(hits: int, many: int) -> str:
    """A share in per cent, with its exact interval."""
    if not many:
        return "–"
    low, high = clopper_pearson(hits, many, tail=0.025)
    return f"{100 * hits / many:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def cell(records: Records, fault: Fault, level: int) -> list[dict[str, Any]]:
    return [row for row in records if row["what"] == fault.name and row["level"] == level]


def found_table(records: Records) -> str:
    """A row for each fault and strength."""
    rows = []
    for fault in FAULTS:
        for level, name in enumerate(LEVELS):
            own = cell(records, fault, level)
            if not own:
                continue
            effects = np.array([row["effect"] for row in own if row["effect"] is not None], float)
            seen, true = effects.mean(axis=0) if len(effects) else (np.nan, np.nan)
            changed = f"{100 * fault.changed(effects).mean():.0f} %" if len(effects) and fault.changed else "–"
            spoke = Counter(row["verdict"] for row in own if row["found"])
            rows.append([
                f"{fault.name}" if level == 0 else "", f"{name}: {fault.strengths[level]:g}",
                signed(seen, fault), signed(true, fault), changed, str(len(own)),
                share(sum(row["found"] for row in own), len(own)), ", ".join(spoke) or "–",
            ])  # fmt: skip
    head = ["fault", "strength", "as evaluated", "truly", "false", "worlds", "found [95 %]", "verdict"]
    return table(head, rows)


def signed(value: float, fault: Fault) -> str:
    sign = "+" if fault.number.startswith("lead") else ""
    return f"{value:{sign}.3f}".replace("-", "−")


def clean_table(records: Records) -> str:
    """A row for each kind of clean audit, and one for all."""
    rows = []
    for name in [*(kind.name for kind in CLEAN), "all"]:
        own = [row for row in records if row["level"] < 0 and name in (row["what"], "all")]
        spoke = Counter(check for row in own for check in row["estimates"])
        facts = Counter(check for row in own for check in row["facts"])
        rows.append([
            name, str(len(own)), share(sum(bool(row["estimates"]) for row in own), len(own)),
            told(spoke), told(facts),
        ])  # fmt: skip
    return table(["clean audits", "worlds", "with a false alarm [95 %]", "checks", "facts wrongly told"], rows)


def told(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({many})" for name, many in counts.most_common()) or "none"


def fault_table() -> str:
    """What each fault is."""
    rows = [
        [fault.name, first_sentence(fault), fault.parameter, fault.number, f"`{fault.check}`"] for fault in FAULTS
    ]
    return table(["fault", "planted", "strength", "number", "check"], rows)


def first_sentence(fault: Fault) -> str:
    return " ".join((fault.plant.__doc__ or "").split()).rstrip(".")


def tables(records: Records) -> str:
    """What is found, and what is found where nothing is."""
    return f"{found_table(records)}\n{clean_table(records)}"


def page(records: Records) -> str:
    """The page of the documentation."""
    seeds = [row["seed"] for row in records if row["level"] >= 0]
    clean = [row["seed"] for row in records if row["level"] < 0]
    return ABOUT.format(
        version=trueval.__version__, machine=f"Python {platform.python_version()}, {platform.machine()}",
        date=time.strftime("%Y-%m-%d"), audits=len(records), last=max(seeds, default=0),
        last_clean=max(clean, default=0), minutes=sum(row["seconds"] for row in records) / 60,
        faults=fault_table(), found=found_table(records), clean=clean_table(records), effects=EFFECTS, metric=METRIC,
        worlds=generator_table(),
    )  # fmt: skip


def generator_table() -> str:
    """The parameters of both sets of worlds."""
    rows = []
    for one in GENERATORS.values():
        users = ", ".join(map(str, one.users))
        options = ", ".join(f"{name}={value:g}" for name, value in one.options.items())
        rows.append([one.name, users, str(one.items), f"{one.per_user:g}", f"{one.held_out:.0%}", options,
                     f"{one.first_seed:,}"])  # fmt: skip
    return table(["worlds", "users", "items", "ratings per user", "tested", "options", "seeds from"], rows)


ABOUT = """# Operating figures of the audit
"""
