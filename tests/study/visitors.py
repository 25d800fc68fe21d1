"""Participants of the tests: they read the forms of a page as a browser without scripts does, fill and send them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Form:
    """A form of a page: where it is sent, its fields as they are, its buttons."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[dict[str, str]] = field(default_factory=list)


class Forms(HTMLParser):
    """The forms of a page, its text and its links."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self.links: list[str] = []
        self.text = ""
        self._inside: Form | None = None
        self._select = self._area = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = Form(given.get("action", ""))
            self.forms.append(self._inside)
        elif tag == "a":
            self.links.append(given.get("href", ""))
        elif self._inside is not None:
            self._control(tag, given, self._inside)

    def _control(self, tag: str, given: dict[str, str], form: Form) -> None:
        if tag == "input" and (given.get("type") not in ("radio", "checkbox") or "checked" in given):
            form.fields[given.get("name", "")] = given.get("value", "")
        elif tag == "button":
            form.buttons.append(given)
        elif tag == "select":
            self._select = given["name"]
            form.fields[self._select] = ""
        elif tag == "option" and "selected" in given:
            form.fields[self._select] = given["value"]
        elif tag == "textarea":
            self._area = given["name"]
            form.fields[self._area] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = None
        elif tag == "textarea":
            if self._inside is not None:
                self._inside.fields[self._area] = self._inside.fields[self._area].removeprefix("\n")
            self._area = ""

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._area and self._inside is not None:
            self._inside.fields[self._area] += data


class Visitor:
    """Somebody who takes part; `seen` has everything that was served to them."""

    def __init__(self, client: Any) -> None:
        self.client, self.seen = client, list[bytes]()
        self.status, self.page, self.address = 0, Forms(""), ""

    def get(self, address: str) -> Visitor:
        """Open an address."""
        return self._take(self.client.get(address, follow_redirects=True))

    def send(self, ending: str, **fields: str) -> Visitor:
        """Fill in the form that is sent to an address with this ending, and send it."""
        form = self.form(ending)
        return self.post(form.action, {**form.fields, **fields})

    def post(self, address: str, fields: dict[str, str]) -> Visitor:
        """Send fields of any kind."""
        return self._take(self.client.post(address, data=fields, follow_redirects=True))

    def form(self, ending: str) -> Form:
        """The form of the page that is sent to an address with this ending."""
        return next(form for form in self.page.forms if form.action.endswith(ending))

    def has(self, ending: str) -> bool:
        """Whether the page has such a form."""
        return any(form.action.endswith(ending) for form in self.page.forms)

    @property
    def home(self) -> str:
        """The address of the participant's pages."""
        return "/".join(self.address.split("/")[:3])

    def _take(self, answer: Any) -> Visitor:
        for one in [*answer.history, answer]:
            self.seen.append(repr(sorted(one.headers.items())).encode() + one.content)
        self.status, self.page = answer.status_code, Forms(answer.text)
        self.address = urlsplit(str(answer.url)).path
        return self

    # ---- whole parts of a study ----------------------------------------------------------------------------------

    def begin(self, query: str = "") -> Visitor:
        """Agree to take part."""
        return self.get(f"/{query}").send("/start", agree="yes")

    def rate(self, number: int, value: str = "4") -> Visitor:
        """Rate the first items that are offered."""
        offered = next(form for form in self.page.forms if form.fields.get("source") == "browse")
        rows = list(dict.fromkeys(button["value"].split(":")[0] for button in offered.buttons))
        for code in rows[:number]:
            self.post(offered.action, {**offered.fields, "rate": f"{code}:{value}"})
        return self

    def answer(self) -> Visitor:
        """Answer one task in some way."""
        form = self.form("/answer")
        if "place-A" in form.fields:
            labels = sorted(name for name in form.fields if name.startswith("place-"))
            return self.send("/answer", **{name: str(place) for place, name in enumerate(labels, 1)})
        if "List B" in self.page.text and "No difference" in self.page.text:
            return self.send("/answer", answer="left")
        return self.send("/answer", **{"scale-1": "3", "scale-2": "2", "mark-2": "know"})

    def finish(self, comment: str = "Nice lists.") -> Visitor:
        """Everything from the lists to the end."""
        if self.has("/lists"):
            self.send("/lists")
        while self.has("/answer"):
            self.answer()
        return self.send("/comment", comment=comment)
