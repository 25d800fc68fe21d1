"""What forms do: each checks its token, stores one step, and sends the participant on to their next page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from trueval.study.answers import (
    accept_invitation,
    begin_tasks,
    current_task,
    lists_of,
    ratings_of,
    store_answer,
    store_comment,
    store_comprehension,
    store_rating,
    store_view,
)
from trueval.study.checked_answers import Incomplete, checked_answer
from trueval.study.identities import same
from trueval.study.plan import Planned
from trueval.study.site import Site, first_values, scale_numbers
from trueval.study.steps import MOST_COMMENT, address_of_pages, items_of, ratings_by_code, show_step
from trueval.study.storage import Participant
from trueval.study.words_table import Words

MOST_FIELDS = 2000
Step = Callable[[Site, "Sent"], Response]


class Sent:
    """A form of a participant: who sent it, and what is in it."""

    def __init__(self, request: Request, person: Participant, token: str, words: Words, fields: dict[str, str]) -> None:
        self.person, self.token, self.words, self.fields = person, token, words, fields
        self.address = address_of_pages(token)
        self.by_script = request.headers.get("x-study") == "script"

    def onward(self, *, at: str = "", **query: Any) -> Response:
        """To the participant's page; `at` is the part of it that comes into view."""
        kept = urlencode({name: value for name, value in query.items() if value})
        return RedirectResponse(self.address + f"?{kept}" * bool(kept) + f"#{at}" * bool(at), 303)

    def has_token(self, site: Site, *parts: str) -> bool:
        """Whether the form was made by us for this participant and this step."""
        return same(self.fields.get("form", ""), site.form_token(self.person.id, *parts))

    def invalid(self, site: Site) -> Response:
        """What forged forms, and forms of other people or other steps, lead to."""
        return site.message(self.words, "form", status=403, back=self.address)


def read_fields(request: Request) -> dict[str, str]:
    """The fields of a form; of what cannot be read, none."""
    body: bytes = request.scope.get("study.body", b"")
    try:
        read = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        return {}
    # NUL cannot be stored by PostgreSQL, and nobody types it
    return {name: value.replace("\x00", "") for name, value in first_values(read).items()}


def agree(site: Site, sent: Sent) -> Response:
    """An invited person agrees."""
    if not sent.has_token(site):
        return sent.invalid(site)
    words = site.words_for(sent.fields.get("lang") or sent.person.language)
    if sent.fields.get("agree") != "yes":
        query = {"lang": words.language}
        return show_step(site, sent.person, sent.token, query, problem=words("agree_needed"))
    accept_invitation(site.storage, sent.person.id, language=words.language)
    return sent.onward()


def comprehension(site: Site, sent: Sent) -> Response:
    """An attempt at the comprehension check."""
    tries = sent.person.comprehension_tries
    if sent.person.stage != "comprehension":
        return sent.onward()
    if not sent.has_token(site, "comprehension", str(tries)):
        # a second click on an earlier attempt is no forgery, and no attempt
        earlier = any(sent.has_token(site, "comprehension", str(one)) for one in range(tries))
        return sent.onward() if earlier else sent.invalid(site)
    given = [sent.fields.get(f"q{number}") for number in range(1, len(site.study.comprehension) + 1)]
    if not all(given):
        return show_step(site, sent.person, sent.token, {}, problem=sent.words("required"), typed=sent.fields)
    right = [str(question.right) for question in site.study.comprehension] == given
    store_comprehension(site.storage, sent.person.id, tries=tries, right=right)
    return sent.onward()


def rating(site: Site, sent: Sent) -> Response:
    """Rate an item, or take a rating back."""
    if not sent.has_token(site):
        return sent.invalid(site)
    chosen, _, text = sent.fields.get("rate", "").partition(":")
    scale = {str(one): float(one) for one in scale_numbers(site.study)}
    known = chosen.isascii() and chosen.isdecimal() and len(chosen) < 10 and int(chosen) < len(site.catalogue.items)
    if not known or (text and text not in scale):
        return sent.onward()
    code = int(chosen)
    source = "browse" if sent.fields.get("source") == "browse" else "search"
    store_rating(site.storage, sent.person.id, site.catalogue.ids[code], scale.get(text), source=source)
    query, page = sent.fields.get("q", "")[:100], sent.fields.get("page", "")[:9]
    if not sent.by_script:
        return sent.onward(q=query, page=page, at=f"{source}-{code}")
    ratings, least, items = ratings_by_code(site, sent.person), site.study.ratings.least, site.catalogue.items
    row = site.render(
        "rated", sent.words, item=items[code], scale=scale_numbers(site.study), value=ratings.get(code), source=source
    )
    count = site.render("count", sent.words, count=len(ratings), least=least)
    mine = site.render(
        "mine", sent.words, address=sent.address, form=site.step_token(sent.person), query=query, page=page,
        rated=[items[one] for one in ratings], ratings=ratings,
    )  # fmt: skip
    return JSONResponse({"row": row, "mine": mine, "count": count.strip(), "enough": len(ratings) >= least})


def lists(site: Site, sent: Sent) -> Response:
    """End the ratings: make the lists of this participant, once."""
    if not sent.has_token(site):
        return sent.invalid(site)
    person, least = sent.person, site.study.ratings.least
    for _ in range(3):  # ratings may change meanwhile, in another tab
        if person.stage != "ratings":
            break
        ratings = ratings_of(site.storage, person.id)
        if len(ratings) < least:
            problem = sent.words("ratings_too_few", least=least)
            return show_step(site, person, sent.token, {}, problem=problem)
        made = site.maker.make(ratings, person.number, person.known_user)
        if begin_tasks(site.storage, person.id, made, ratings=ratings):
            break
    return sent.onward()


def view(site: Site, sent: Sent) -> Response:
    """Another list comes into view; what was chosen so far is kept."""
    task, plan = _current(site, sent)
    if not task or not sent.has_token(site, "task", str(task)):
        return _stale(site, sent)
    chosen = next((one for one in plan if one.label == sent.fields.get("show")), None)
    if chosen is None:
        return sent.onward()
    draft = {name: value[:3] for name, value in sent.fields.items() if name in {f"place-{one.label}" for one in plan}}
    store_view(site.storage, sent.person.id, task, chosen.position, draft=draft)
    if not sent.by_script:
        return sent.onward(list=chosen.label)
    items = items_of(site, sent.person, chosen)
    visible = site.study.lists.visible
    return HTMLResponse(site.render("panel", sent.words, label=chosen.label, items=items, visible=visible))


def answer(site: Site, sent: Sent) -> Response:
    """The answer to a task."""
    task, plan = _current(site, sent)
    if not task or not sent.has_token(site, "task", str(task)):
        return _stale(site, sent)
    made = lists_of(site.storage, sent.person.id)
    length = min((len(made[one.system]) for one in plan), default=0)
    try:
        body = checked_answer(site.study, plan, sent.fields, sent.words, length=length)
    except Incomplete as missing:
        query = {"list": sent.fields.get("list", "")}
        return show_step(site, sent.person, sent.token, query, problem=str(missing), typed=sent.fields)
    store_answer(site.storage, sent.person.id, task, body)
    return sent.onward()


def comment(site: Site, sent: Sent) -> Response:
    """The free text, and the end."""
    if not sent.has_token(site):
        return sent.invalid(site)
    text = sent.fields.get("comment", "").replace("\r\n", "\n")
    if sent.person.stage == "comment" and len(text) > MOST_COMMENT:
        problem = sent.words("comment_too_long", most=MOST_COMMENT)
        return show_step(site, sent.person, sent.token, {}, problem=problem, typed={"comment": text})
    store_comment(site.storage, sent.person.id, text)
    return sent.onward()


STEPS: dict[str, Step] = {
    "agree": agree, "comprehension": comprehension, "rating": rating, "lists": lists, "view": view, "answer": answer,
    "comment": comment,
}  # fmt: skip


def _current(site: Site, sent: Sent) -> tuple[int, list[Planned]]:
    """The participant's task and its lists; 0 where they are not at a task."""
    task = current_task(site.storage, sent.person.id) if sent.person.stage == "tasks" else None
    if task is None:
        return 0, []
    return task, [one for one in site.storage.plan_of(sent.person.id) if one.task == task]


def _stale(site: Site, sent: Sent) -> Response:
    """A form of a task that was answered before changes nothing; any other is refused."""
    tasks = {one.task for one in site.storage.plan_of(sent.person.id)}
    earlier = any(sent.has_token(site, "task", str(task)) for task in tasks)
    return sent.onward() if earlier else sent.invalid(site)
