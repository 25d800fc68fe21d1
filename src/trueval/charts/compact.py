"""Pictures with nothing in them that nobody sees: pages hold many."""

from __future__ import annotations

import re

from trueval.charts.altair import FONT

_UNSEEN = re.compile(r'<path class="(?:background|foreground)"(?:(?! (?:fill|stroke)=)[^<>])*/>')
_FONT = f' font-family="{FONT}"'
_EMPTY = (' opacity="1"', ' pointer-events="none"', ' aria-hidden="true"', _FONT)
_PLACES = re.compile(r' (?:d|transform|[xy][12]?|width|height)="[^"]*"')
_LONG = re.compile(r"\d+\.\d{3,}(?:e-\d+)?")


def compact(svg: str) -> str:
    """The same picture: places to a hundredth of a pixel, the font named once, no empty shapes. Texts stay as they are.

    >>> compact('<svg><path d="M1.23456,2"/><text opacity="1">1.23456</text></svg>').replace(FONT, "…")
    '<svg font-family="…"><path d="M1.23,2"/><text>1.23456</text></svg>'
    """
    made = re.sub(r"<[^<>]*>", _tag, _UNSEEN.sub("", svg))
    return made.replace("<svg", f"<svg{_FONT}", 1)


def _tag(found: re.Match[str]) -> str:
    tag = _PLACES.sub(lambda own: _LONG.sub(_two_digits, own[0]), found[0])
    for part in _EMPTY:
        tag = tag.replace(part, "")
    return tag


def _two_digits(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
