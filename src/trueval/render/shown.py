"""What notebooks ask of the objects that a cell ends with. Imports nothing, for every class of results is one."""

from __future__ import annotations

from typing import Any, ClassVar


class Shown:
    """An object that prints as text; a notebook shows the same text, its tables as tables.

    >>> class Twice(Shown):
    ...     def __str__(self) -> str:
    ...         return "2 > 1"
    >>> "2 &gt; 1" in Twice()._repr_html_()
    True
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        from trueval.render.notebook import notebook_html
        from trueval.render.terminal import text_and_tables

        return notebook_html(*text_and_tables(self.__str__))


class ShownFields:
    """A record that prints as a short name; a notebook shows the name and all fields.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Cut(ShownFields):
    ...     k: int = 10
    >>> "10</td></tr>" in Cut()._repr_html_()
    True
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def _repr_html_(self) -> str:
        from trueval.render.notebook import notebook_html
        from trueval.render.terminal import plain_table

        rows = [[name, str(getattr(self, name))] for name in self.__dataclass_fields__]
        return notebook_html(str(self), plain_table(["field", "value"], rows, align="ll"))
