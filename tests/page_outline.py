"""What is on an HTML page, for tests that need no browser."""

from __future__ import annotations

from html.parser import HTMLParser

_ADDRESSES = ("href", "src", "action", "xlink:href", "srcset", "data", "poster")
_EMPTY = {"br", "meta"}


class Outline(HTMLParser):
    """The ids of a page, its figures, the addresses that it refers to, and its text; `open` are elements not closed.

    An element that is closed out of order is an assertion error.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.figures: list[str] = []
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, dict(attrs))
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.text += data

    def _note(self, tag: str, given: dict[str, str | None]) -> None:
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag == "figure":
            self.figures.append(str(given["id"]).removeprefix("chart-"))
        self.addresses += [str(given[name]) for name in _ADDRESSES if given.get(name)]
