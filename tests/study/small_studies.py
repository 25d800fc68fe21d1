"""Study files for the tests, as mappings."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

FORMS: dict[str, dict[str, Any]] = {
    "rank": {"question": "Which list is best?", "blanks": "worse"},
    "pair": {"question": "Which list is better?", "reasons": ["fits my taste", "more variety"]},
    "rate": {
        "questions": [
            {"name": "relevance", "text": "How well does it fit?", "low": "badly", "high": "well"},
            {"name": "novelty", "text": "How new is it to you?", "points": 7},
        ]
    },
}
SYSTEMS: dict[str, dict[str, Any]] = {
    "zz-popular": {"system": "popularity"},
    "zz-chance": {"system": "random"},
    "zz-average": {"system": "average"},
}


def settings(form: str = "rank", **sections: Any) -> dict[str, Any]:
    """A study of three systems in one form; `sections` are added to or put in place of its sections."""
    study: dict[str, Any] = {
        "study": {"title": "Lists of films", "form": form, "seed": 7},
        "data": {"path": "."},
        "information": {"text": "Please look at some lists."},
        "ratings": {"least": 0},
        form: deepcopy(FORMS[form]),
        "systems": deepcopy(SYSTEMS),
    }
    for name, given in sections.items():
        study[name] = {**study.get(name, {}), **given} if isinstance(given, dict) and name != "systems" else given
    return study
