"""A study that is being served: its parts in one place, and how its pages are made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from trueval.study.catalogue import Catalogue, check_scale, read_catalogue
from trueval.study.definition import Study
from trueval.study.finding import Browsing, Finder
from trueval.study.identities import ids_key, keyed
from trueval.study.lists import ListMaker, fit_systems
from trueval.study.storage import Participant, Storage
from trueval.study.words_table import Words, words_of

_HERE = Path(__file__).parent
STATIC = _HERE / "static"


@dataclass(frozen=True)
class Site:
    """All that pages and forms need."""

    study: Study
    storage: Storage
    maker: ListMaker
    words: dict[str, Words]
    form_key: str
    ids_key: str | None

    @staticmethod
    def open(study: Study, url: str | None = None, *, told: Callable[[str], None] = lambda text: None) -> Site:
        """Read the data, fit the systems and open the database."""
        words = words_of(study)
        catalogue = read_catalogue(study)
        check_scale(study, catalogue)
        storage = Storage.open(study, url)  # what it refuses is said before systems are fitted, which may take long
        try:
            maker = fit_systems(study, catalogue, told=told)
            form_key = storage.setting("form key")
            assert form_key is not None
            key = ids_key(study, make=True) if study.outside.ids else None
        except BaseException:
            storage.close()
            raise
        return Site(study, storage, maker, words, form_key, key)

    @property
    def catalogue(self) -> Catalogue:
        """The items."""
        return self.maker.catalogue

    @cached_property
    def finder(self) -> Finder:
        """The search by title."""
        return Finder([item.title for item in self.catalogue.items], self.catalogue.popularity)

    @cached_property
    def browsing(self) -> Browsing:
        """The pages to leaf through."""
        chosen = self.study.ratings
        return Browsing(
            self.catalogue.popularity, chosen.popular, chosen.popular_items, chosen.page, self.study.about.seed
        )

    @property
    def by_invitation(self) -> bool:
        """Whether only people with an invitation can take part: run files have lists for known users alone."""
        return bool(self.maker.runs)

    def words_for(self, language: str | None) -> Words:
        """The words of a language; of the study's first one where it has no such language."""
        return self.words.get(language or "", next(iter(self.words.values())))

    def languages(self, query: Mapping[str, str]) -> list[dict[str, str]]:
        """The languages that people can choose, each with the query of its page, which keeps what the address had."""
        return [
            {"code": one, "name": words("language_name"), "query": urlencode({**query, "lang": one})}
            for one, words in self.words.items()
        ]

    def form_token(self, *parts: str) -> str:
        """The token of a form, which nobody can make without the study's key."""
        return keyed(self.form_key, "form", *parts)

    def step_token(self, participant: Participant) -> str:
        """The token of the forms on a participant's pages."""
        return self.form_token(participant.id)

    @cached_property
    def _templates(self) -> Environment:
        version = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(STATIC.iterdir()))).hexdigest()[:12]
        made = Environment(
            loader=FileSystemLoader(_HERE / "templates"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        made.globals.update(version=version, steps=0, step=0, problem="", wide=False, typed={})
        return made

    def render(self, template: str, words: Words, **context: Any) -> str:
        """The text of a page or of a part of one; all values are escaped."""
        return self._templates.get_template(f"{template}.html").render(t=words, **context)

    def page(self, template: str, words: Words, *, status: int = 200, **context: Any) -> HTMLResponse:
        """A page."""
        return HTMLResponse(self.render(template, words, **context), status)

    def message(self, words: Words, key: str, *, status: int, back: str = "") -> HTMLResponse:
        """A page that says one thing, by the key of its words."""
        return self.page("message", words, status=status, heading=words(f"{key}_title"), text=words(key), back=back)


def scale_numbers(study: Study) -> list[float]:
    """The scale of ratings, whole numbers as such."""
    return [int(one) if float(one).is_integer() else one for one in study.ratings.scale]


def first_values(fields: Mapping[str, list[str]]) -> dict[str, str]:
    """The first value of each field of a form."""
    return {name: values[0] for name, values in fields.items()}
