"""What would another policy have earned? Estimated from the log of the live one, in a world whose truth is known."""

from __future__ import annotations

import numpy as np
import polars as pl

import trueval as tv

rng = np.random.default_rng(1)
items, rows = 12, 20_000
live = rng.dirichlet(np.full(items, 2.0))  # how often the live policy shows each item
target = rng.dirichlet(np.full(items, 2.0))  # how often the new one would
clicks = rng.uniform(0.01, 0.2, items)  # how often each item is clicked when shown

shown = rng.choice(items, rows, p=live)
log = pl.DataFrame(
    {
        "user": rng.integers(0, 4_000, rows),
        "item": shown,
        "click": (rng.random(rows) < clicks[shown]).astype(int),
        "propensity": live[shown],
    }
)
policy = pl.DataFrame({"item": np.arange(items), "probability": target})

found = tv.ope(log, policy)
print(found)
print(f"truth {target @ clicks:.4f}, dr {found['dr'].value:.4f}, a naive reading of the log {found['naive'].value:.4f}")
