"""Pictures and pages of records: their folders are further right in the flow of imports, and loaded when asked for.

The one place where modules are named in text: a record offers what a later folder makes of it, and knows no more.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, ClassVar


def draw(kind: str, record: Any, name: str | None, options: Mapping[str, Any]) -> Any:
    """A `Chart` of a record, by its short name; without one, the first that records of this kind offer."""
    return importlib.import_module("trueval.charts.offered").offered(kind, record, name, options)


class Reported:
    """A record that can be made into a page of its own."""

    __slots__ = ()
    report_kind: ClassVar[str]

    def to_html(self, *, title: str | None = None) -> str:
        """Render a report: one HTML page with pictures, which needs nothing else.

        Parameters
        ----------
        title : text, optional
            Title of the page. Default: what it is about.

        Returns
        -------
        str
            The page. Pictures need the extra `charts`; without it, tables stand in their places.
        """
        made: str = importlib.import_module("trueval.report.pages").page_of(self.report_kind, self, title=title)
        return made
