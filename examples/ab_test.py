"""Plan an A/B test, run it (here: simulate it), and read the result.

python examples/ab_test.py
"""

from __future__ import annotations

import numpy as np
import polars as pl

import trueval as tv


def simulated_events(users: int, seed: int = 0) -> pl.DataFrame:
    """One row per impression: who saw which version, whether they clicked, how long they stayed."""
    rng = np.random.default_rng(seed)
    new = rng.random(users) < 0.5
    taste = rng.beta(2, 8, users) * np.where(new, 1.15, 1.0)  # the new version brings 15 % more clicks
    shown = 1 + rng.negative_binomial(1, 0.15, users)
    user = np.repeat(np.arange(users), shown)
    gap = np.where(rng.random(len(user)) < 0.8, rng.exponential(120, len(user)), rng.exponential(86_400, len(user)))
    return pl.DataFrame(
        {
            "user": user,
            "version": np.where(new, "new", "old")[user],
            "time": 1_780_000_000 + np.cumsum(gap).astype(int),  # minutes within a visit, a day between visits
            "impressions": 1,
            "clicks": (rng.random(len(user)) < taste[user]).astype(int),
            "seconds": rng.lognormal(2, 1.2, len(user)),
            "clicks_before": rng.binomial(20, taste / np.where(new, 1.15, 1.0))[user],
            "country": np.array(["at", "it"])[np.arange(users) % 2][user],
        }
    )


def main() -> None:
    """How many users it takes, and what the test says."""
    print(tv.ab_plan(baseline=0.2, sd=0.35, effect="10%", daily_users=500))
    found = tv.ab_test(
        simulated_events(6000),
        arm="version",
        metrics="ctr=clicks/impressions, dwell:median=seconds, length:trimmed=session_length, returned",
        pre="clicks_before",
        segments="country",
    )
    print(found)


if __name__ == "__main__":
    main()
