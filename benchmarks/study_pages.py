"""The forms of a page, read by a few patterns: the people of the benchmark share the cores with the server."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

_FORM = re.compile(r'<form method="post" action="([^"]*)"[^>]*>(.*?)</form>', re.DOTALL)
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]*)"[^>]*? value="([^"]*)"')
_RATE = re.compile(r'<button name="rate" value="([^"]*)"')


@dataclass
class Form:
    """Where a form is sent, its hidden fields, and the values of its buttons for ratings."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[str] = field(default_factory=list)


def forms(page: str) -> list[Form]:
    """The forms of a page that store something.

    >>> forms('<form method="post" action="/a"><input type="hidden" name="n" value="&lt;"></form>')
    [Form(action='/a', fields={'n': '<'}, buttons=[])]
    """
    return [
        Form(action, {name: html.unescape(value) for name, value in _HIDDEN.findall(inside)}, _RATE.findall(inside))
        for action, inside in _FORM.findall(page)
    ]
