"""Print constraints that hold every dependency of pyproject.toml at the lowest version it allows.

    python .ci/lowest_versions.py > lowest.txt
    pip install -e . -c lowest.txt

With names of extras as arguments, their dependencies as well.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

_LOWEST = re.compile(r"([A-Za-z0-9._-]+)>=([0-9.]+)(\s*;.*)?")


def lowest(requirements: Sequence[str]) -> list[str]:
    """`name==version` for each `name>=version`; a marker stays.

    >>> lowest(["numpy>=2.0", "rectools>=0.19; python_version >= '3.13'"])
    ['numpy==2.0', "rectools==0.19; python_version >= '3.13'"]
    """
    found = [_LOWEST.fullmatch(one) for one in requirements]
    wrong = [one for one, match in zip(requirements, found) if match is None]
    if wrong:
        raise SystemExit(f"each dependency must say its lowest version, name>=version: {', '.join(wrong)}")
    return [f"{match[1]}=={match[2]}{match[3] or ''}" for match in found if match]


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    print(*sorted({*lowest(project["dependencies"]), *(p for e in sys.argv[1:] for p in lowest(extras[e]))}), sep="\n")
