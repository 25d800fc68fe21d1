"""Run a library on the worlds and print what it says, with its version: a file of `recorded/`.

For libraries that tests cannot install, made by hand in an environment of their own (RecBole 1.2.1 needs numpy below
1.24 and torch, LensKit needs torch), or that take minutes to compile (ranx):

    python tests/presets/record_values.py lenskit > tests/presets/recorded/lenskit.json
"""

from __future__ import annotations

import importlib.metadata
import json
import sys

import libraries
from worlds import COMPLETE, LONG, WORLDS


def record(name: str, worlds: list) -> dict:
    """Values by world and metric."""
    library = getattr(libraries, name)
    return {
        "library": name,
        "version": importlib.metadata.version(name),
        "values": {world.name: library(world) for world in worlds},
    }


if __name__ == "__main__":
    wanted = sys.argv[1]
    chosen = WORLDS + {"recbole": COMPLETE, "ranx": LONG}.get(wanted, [])
    if sys.argv[2:] == ["--untied"]:
        chosen = [world for world in chosen if not world.tied]
    json.dump(record(wanted, chosen), sys.stdout, indent=1)
    sys.stdout.write("\n")
