"""Take outputs, counts and settings of editors out of the notebooks in examples/, so that changes can be read.

jupyter lab examples/                # edit and run them
python .ci/strip_notebooks.py        # before the commit; a test fails where this was forgotten
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_EXAMPLES = Path(__file__).parents[1] / "examples"
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def stripped(text: str) -> str:
    """The text of a notebook without what running it left behind.

    >>> cell = {"cell_type": "code", "execution_count": 3, "id": "x", "metadata": {}, "outputs": [1], "source": []}
    >>> json.loads(stripped(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})))["cells"]
    [{'cell_type': 'code', 'execution_count': None, 'id': 'cell-01', 'metadata': {}, 'outputs': [], 'source': []}]
    """
    notebook = json.loads(text)
    cells = [_bare(cell, number) for number, cell in enumerate(notebook["cells"], 1)]
    kept = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(kept, indent=1, ensure_ascii=False) + "\n"


def _bare(cell: dict[str, Any], number: int) -> dict[str, Any]:
    empty = {"execution_count": None, "outputs": []} if cell["cell_type"] == "code" else {}
    source = cell["source"]
    lines = source.splitlines(keepends=True) if isinstance(source, str) else source
    return dict(
        sorted(
            {
                "cell_type": cell["cell_type"],
                "id": f"cell-{number:02}",
                "metadata": {},
                "source": lines,
                **empty,
            }.items()
        )
    )


if __name__ == "__main__":
    for path in sorted(_EXAMPLES.glob("*.ipynb")):
        path.write_text(stripped(path.read_text()))
