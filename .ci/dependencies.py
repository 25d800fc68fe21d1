"""Print the dependencies of pyproject.toml, with those of the extras that are named.

    python .ci/dependencies.py test > needed.txt
    pip install -r needed.txt -c constraints-hashes.txt

pip takes no constraints with hashes where the project itself is installed from its folder, which has no hash: its
dependencies are installed first, and the project after them.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

if __name__ == "__main__":
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    project, extras = settings["project"], settings["project"]["optional-dependencies"]
    unknown = [name for name in sys.argv[1:] if name not in extras]
    if unknown:
        raise SystemExit(f"pyproject.toml has no extra {unknown[0]!r}; it has {', '.join(extras)}")
    wanted = [*project["dependencies"], *(one for name in sys.argv[1:] for one in extras[name])]
    print(*sorted({*wanted, *settings["build-system"]["requires"]}), sep="\n")
