"""The web application of a study: addresses, and what each of them answers."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import wraps
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from trueval.study.address_limit import AddressLimit, Network, TooManyFromAddress
from trueval.study.catalogue import PICTURES
from trueval.study.database import NotSaved
from trueval.study.identities import new_secret, outside_ids, same
from trueval.study.posting import STEPS, Sent, read_fields
from trueval.study.request_limits import RequestLimits
from trueval.study.results import results_page
from trueval.study.site import STATIC, Site, scale_numbers
from trueval.study.steps import address_of_pages, ratings_by_code, show_step
from trueval.study.storage import Participant, StudyFull
from trueval.study.words_table import Words

START_VALID = 7 * 86400  # seconds for which the first form can be sent
_STATIC = {"study.css": "text/css", "study.js": "text/javascript", "icon.svg": "image/svg+xml"}
Handler = Callable[[Request], Response]


def make_app(site: Site, *, proxies: Sequence[Network] = (), **limits: Any) -> Any:
    """The application; `proxies` are web servers in front that are believed, `limits` those of `RequestLimits`."""
    pages = Pages(site, AddressLimit(site.study.about.per_address, proxies))
    app = Starlette(
        routes=[
            Route("/", pages.information, methods=["GET"]),
            Route("/start", pages.to_beginning, methods=["GET"]),
            Route("/start", _posted(site, pages.start), methods=["POST"]),
            Route("/p/{token}", pages.step, methods=["GET"]),
            Route("/p/{token}/find", pages.find, methods=["GET"]),
            Route("/p/{token}/{step}", pages.to_step, methods=["GET"]),
            Route("/p/{token}/{step}", _posted(site, pages.sent), methods=["POST"]),
            Route("/results", pages.results, methods=["GET"]),
            Route("/results", _posted(site, pages.results), methods=["POST"]),
            Route("/picture/{code:int}", pages.picture, methods=["GET"]),
            Route("/static/{name}", pages.static, methods=["GET"]),
        ],
        lifespan=_closing(site),
        exception_handlers={HTTPException: pages.refused, NotSaved: pages.unavailable, Exception: pages.failed},
    )
    app.router.redirect_slashes = False  # it would send people to whatever host their request named
    return RequestLimits(app, **limits)


def _closing(site: Site) -> Any:
    """What the server runs from its start to its end, in each of its processes: at the end the database is closed."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        yield
        site.storage.close()

    return lifespan


def _posted(site: Site, handler: Handler) -> Handler:
    """A handler of forms: what is too large or too slow is refused, what could not be saved is given back."""

    @wraps(handler)
    def handled(request: Request) -> Response:
        refused = request.scope.get("study.refused")
        if refused:
            with suppress(NotSaved, HTTPException, KeyError):
                _person(site, request)  # for the language
            status, back = 408 if refused == "too_slow" else 413, request.url.path.rpartition("/")[0] or "/"
            return site.message(_words(site, request), refused, status=status, back=back)
        try:
            return handler(request)
        except StudyFull as full:
            back = request.url.path.rpartition("/")[0] or "/"
            status = 429 if isinstance(full, TooManyFromAddress) else 503
            return site.message(_words(site, request), "full", status=status, back=back)
        except NotSaved:
            words, typed = _words(site, request), read_fields(request)
            return site.page("not_saved", words, status=503, action=request.url.path, typed=typed)

    return handled


def _person(site: Site, request: Request) -> tuple[str, Participant]:
    """The token in the address, and whose it is."""
    token: str = request.path_params["token"]
    person = site.storage.find(token)
    if person is None:
        raise HTTPException(404)
    request.scope["study.language"] = person.language
    return token, person


def _words(site: Site, request: Request) -> Words:
    """The words of whoever asks, as far as that is known by now; else of the study's first language."""
    known = request.scope.get("study.language")
    return site.words_for(known or read_fields(request).get("lang") or request.query_params.get("lang"))


class Pages:
    """Handlers of requests. Plain functions: each runs in a thread of its own."""

    def __init__(self, site: Site, limit: AddressLimit) -> None:
        self.site, self.limit = site, limit

    def information(self, request: Request) -> Response:
        """What the study is about, and the form to agree to it."""
        return self._information(request, dict(request.query_params))

    def _information(self, request: Request, given: dict[str, str], *, problem: str = "") -> Response:
        site = self.site
        words = site.words_for(given.get("lang"))
        ids = {name: given[name][:200] for name in site.study.outside.ids if name in given}
        nonce, made = new_secret(), str(int(time.time()))
        return site.page(
            "information", words, status=422 if problem else 200, problem=problem, action="/start",
            form=site.form_token("start", nonce, made), languages=site.languages(ids),
            hidden={"nonce": nonce, "made": made, "lang": words.language, **ids},
            closed=words("by_invitation") if site.by_invitation else "",
        )  # fmt: skip

    def start(self, request: Request) -> Response:
        """Enrol whoever agrees; the same form again leads to the same participant."""
        site, fields = self.site, read_fields(request)
        words = site.words_for(fields.get("lang"))
        nonce, made = fields.get("nonce", ""), fields.get("made", "")
        if not same(fields.get("form", ""), site.form_token("start", nonce, made)) or site.by_invitation:
            return site.message(words, "form", status=403, back="/")
        if int(made) < time.time() - START_VALID:
            return site.message(words, "form", status=403, back="/")
        if fields.get("agree") != "yes":
            return self._information(request, fields, problem=words("agree_needed"))
        ids = outside_ids(site.study, fields)
        enrolled = site.storage.enrol(
            nonce=nonce, outside=ids, key=site.ids_key, language=words.language, admit=lambda: self._admit(request)
        )
        return RedirectResponse(address_of_pages(enrolled.token), 303)

    def _admit(self, request: Request) -> None:
        """Count one more who begins, or refuse them."""
        self.limit.count(request.client.host if request.client else "", request.headers.getlist("x-forwarded-for"))

    def to_beginning(self, request: Request) -> Response:
        """The address of the first form, which stays in the browser's bar where something was missing in it."""
        return RedirectResponse("/", 303)

    def step(self, request: Request) -> Response:
        """The page where a participant is."""
        token, person = _person(self.site, request)
        return show_step(self.site, person, token, request.query_params)

    def to_step(self, request: Request) -> Response:
        """The address of a form, which stays in the browser's bar where something was missing in it."""
        token, _ = _person(self.site, request)
        if request.path_params["step"] not in STEPS:
            raise HTTPException(404)
        return RedirectResponse(address_of_pages(token), 303)

    def find(self, request: Request) -> Response:
        """Items by title, for the script."""
        site, asked = self.site, request.query_params.get("q", "")
        _, person = _person(self.site, request)
        found = [site.catalogue.items[code] for code in site.finder.find(asked)]
        ratings, scale = ratings_by_code(site, person), scale_numbers(site.study)
        words = site.words_for(person.language)
        return HTMLResponse(site.render("found", words, query=asked, found=found, ratings=ratings, scale=scale))

    def sent(self, request: Request) -> Response:
        """A form of a participant."""
        (token, person), act = _person(self.site, request), STEPS.get(request.path_params["step"])
        if act is None:
            raise HTTPException(404)
        words = self.site.words_for(person.language)
        return act(self.site, Sent(request, person, token, words, read_fields(request)))

    def results(self, request: Request) -> Response:
        """How far the study is, for whoever has its secret."""
        secret = read_fields(request).get("secret") if request.method == "POST" else None
        return results_page(self.site, secret)

    def picture(self, request: Request) -> Response:
        """A picture of the study's folder."""
        path = self.site.catalogue.pictures.get(request.path_params["code"])
        if path is None or not path.is_file():
            raise HTTPException(404)
        kind = PICTURES[path.suffix.lower()]
        return FileResponse(path, media_type=kind, headers={"cache-control": "private, max-age=3600"})

    def static(self, request: Request) -> Response:
        """Style, script and icon."""
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404)
        return FileResponse(STATIC / name, media_type=_STATIC[name], headers={"cache-control": "public, max-age=86400"})

    # ---- what goes wrong -----------------------------------------------------------------------------------------

    def refused(self, request: Request, problem: Exception) -> Response:
        """Addresses that do not exist, and methods that they do not take."""
        status = problem.status_code if isinstance(problem, HTTPException) else 404
        return self.site.message(_words(self.site, request), "not_found", status=status)

    def unavailable(self, request: Request, problem: Exception) -> Response:
        """A page that cannot be made because the database cannot be read."""
        return self.site.message(_words(self.site, request), "error", status=503, back=request.url.path)

    def failed(self, request: Request, problem: Exception) -> Response:
        """A defect; people learn nothing of it but that nothing was changed."""
        return self.site.message(_words(self.site, request), "error", status=500, back=request.url.path)
