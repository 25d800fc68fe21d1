"""One fresh process that needs a family of kernels: prints a digest of what it found.

`python kernel_worker.py FAMILY` evaluates a small world in which that family does the work, compiled, whatever the
size of the work; all other kernels are plain ones, so that little is compiled.
"""

from __future__ import annotations

import hashlib
import sys

import trueval as tv
from trueval import kernels
from trueval.simulation.demo_world import make_world

# what must be evaluated for a family to be used
USES = {
    "lists": {"systems": "popularity"},
    "ranking": {"systems": "popularity"},
    "sampling": {"systems": "popularity", "design": "1R-TI-NN20"},
    "resampling": {"systems": "popularity", "interval": "bootstrap", "resamples": 50},
    "aspects": {"systems": "popularity", "metrics": ["alpha_ndcg@5", "abndcg@5"]},
    "neighbours": {"systems": "userknn[k=20]"},
    "topics": {"systems": "plsa[factors=4,iterations=3]"},
    "als": {"systems": "allrank[factors=4]"},
    "svdpp": {"systems": "svdpp[factors=4]"},
}


def evaluate(family: str) -> str:
    """A digest of all values and intervals."""
    world = make_world(users=290, items=300, interactions=290 * 24, seed=1)
    parts = tv.split(world.log, "holdout", ratio=0.25)
    asked = {"threshold": 4, "metrics": ["ndcg@10"], "interval": "none", "items": world.log.items, **USES[family]}
    found = tv.evaluate(parts, **asked, threads=4)
    text = found.to_json() + found.per_user.sort("user").write_json()
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    kernels.is_loaded = lambda family: family == sys.argv[1]
    print(evaluate(sys.argv[1]))
