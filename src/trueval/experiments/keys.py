"""The keys that an experiment may have, and the kinds of their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from trueval.arguments import RANGES
from trueval.errors import DefinitionError, suggest
from trueval.evaluation.declared_options import file_kinds
from trueval.experiments.experiment_file import Written, show

MOST_SEEDS = 1000  # each is a whole experiment


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _is_texts(value: Any) -> bool:
    return _is_text(value) or (isinstance(value, (list, tuple)) and len(value) > 0 and all(map(_is_text, value)))


def _is_seed(value: Any) -> bool:
    return _is_whole(value) and RANGES["seed"].low <= value <= RANGES["seed"].high


def _is_seeds(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and 0 < len(value) <= MOST_SEEDS and all(map(_is_seed, value))


def _is_columns(value: Any) -> bool:
    """Roles, and tables of roles: the dot of items.item makes a table of a key that is not in quotes."""
    return isinstance(value, Mapping) and all(
        _is_roles(v) if isinstance(v, Mapping) else _is_column(v) for v in value.values()
    )


def _is_roles(value: Mapping[str, Any]) -> bool:
    return all(map(_is_column, value.values()))


def _is_column(value: Any) -> bool:
    return value in (None, "") or _is_text(value) or _is_whole(value)


Kind = tuple[Callable[[Any], bool], str, str]  # check, description, example

_NUMBER: Kind = (_is_number, "a number", "4")
_WHOLE: Kind = (_is_whole, "a whole number", "1000")
_TEXT: Kind = (_is_text, "a string", '"…"')
_TEXTS: Kind = (_is_texts, "a list of strings", '["…", "…"]')
_SEED: Kind = (_is_seed, "a whole number, 0 or more", "1")
_SEEDS: Kind = (_is_seeds, f"a list of whole numbers, 0 or more, at most {MOST_SEEDS:,} of them", "[1, 2, 3]")
_COLUMNS: Kind = (_is_columns, "a table from roles to names or positions", '{ user = "uid", item = "sku" }')
_FINDINGS: Kind = (
    lambda value: isinstance(value, Mapping), "a table by check", '{ future_rows = { reason = "…", data = "…" } }',
)  # fmt: skip
_ANY: Kind = (lambda value: True, "", "")

_BY_NAME = {"any": _ANY, "number": _NUMBER, "whole": _WHOLE, "text": _TEXT, "texts": _TEXTS}
KINDS: dict[str, dict[str, Kind]] = {
    "data": {"path": _ANY, "threshold": _NUMBER, "columns": _COLUMNS, "items": _ANY, "users": _ANY, "count": _TEXT},
    "split": {"how": _TEXT, "seed": _SEED, "seeds": _SEEDS, "min_user": _WHOLE, "min_item": _WHOLE},
    "evaluation": {
        "designs": _TEXTS, "baseline": _TEXT, "test": _TEXT, "correct": _TEXT,
        **{name: _BY_NAME[kind] for name, kind in file_kinds().items()},
    },
    "audit": {"accept": _FINDINGS},
    "systems": {},
}  # fmt: skip
_EXAMPLES = {
    "designs": '["AR-TI-AN", "1R-TI-NN100"]', "metrics": '["ndcg@10", "recall@20"]', "by": '["gender"]',
    "min_user": "5", "min_item": "5", "min_group": "30", "level": "0.95",
}  # fmt: skip
NEEDED = {"data": "path"}


def check_sections(written: Written, *, split_options: Iterable[str]) -> None:
    """Refuse sections and keys that do not exist, keys that are missing, and values of the wrong kind.

    Keys of [split] are also the options of the split; what they may be is for the split to say.
    """
    for name, value in written.sections.items():
        if name not in KINDS and not isinstance(value, Mapping):
            do = _home_of(name) or f"move it into one of the sections {', '.join(KINDS)}"
            raise DefinitionError(f"{name} is outside of all sections", where=written.at("", name), do=do)
        if name not in KINDS:
            raise DefinitionError(
                f"an experiment has no section [{name}]", where=written.at(name), do=suggest(name, KINDS)
            )
    for section, kinds in KINDS.items():
        keys = written.section(section)
        if section == "systems":
            continue
        known = [*kinds, *(split_options if section == "split" else ())]
        for key, value in keys.items():
            if key not in known:
                do = _home_of(key) or suggest(key, known)
                raise DefinitionError(f"[{section}] has no key {key!r}", where=written.at(section, key), do=do)
            if key in kinds:
                check_kind(written, section, key, value)
        needed = NEEDED.get(section)
        if needed is not None and needed not in keys:
            raise DefinitionError(
                f"[{section}] {needed} is missing", where=written.at(section), do=f'add path = "ml-1m" to [{section}]'
            )
    if not written.section("systems"):
        raise DefinitionError(
            "the experiment has no systems",
            where=written.at("systems"),
            do="add a section [systems], with popularity = {}",
        )


def check_kind(written: Written, section: str, key: str, value: Any) -> None:
    """Refuse a value of the wrong kind."""
    check, description, example = KINDS[section][key]
    example = _EXAMPLES.get(key, example)
    if not check(value):
        raise DefinitionError(
            f"{key} must be {description}", where=written.at(section, key), found=_shortened(f"{key} = {show(value)}"),
            do=f"for example {key} = {example}",
        )  # fmt: skip


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"


def _home_of(key: str) -> str:
    """The section that a key belongs to, where it was written in another."""
    sections = [section for section, kinds in KINDS.items() if key in kinds]
    return f"it belongs to [{sections[0]}]" if sections else ""
