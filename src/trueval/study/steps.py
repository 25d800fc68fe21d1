"""The page of a participant's next step, as it follows from what is stored; making a page stores nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from trueval.study.answers import current_task, draft_of, lists_of, ratings_of
from trueval.study.plan import Planned
from trueval.study.sections import Pair, Rank, Rate
from trueval.study.site import Site, scale_numbers
from trueval.study.storage import Participant
from trueval.study.words_table import Words

MOST_COMMENT = 5000  # characters


def address_of_pages(token: str) -> str:
    """The address of a participant's pages."""
    return f"/p/{token}"


def show_step(
    site: Site,
    person: Participant,
    token: str,
    query: Mapping[str, str],
    *,
    problem: str = "",
    typed: Mapping[str, str] | None = None,
) -> Response:
    """The page where a participant is; with a `problem`, the page that was sent with what was `typed`."""
    invited = person.stage == "invited"  # who has not begun can choose a language
    words = site.words_for((invited and query.get("lang")) or person.language)
    context = {
        "address": address_of_pages(token), "form": site.step_token(person), "problem": problem,
        "typed": dict(typed or {}), **_progress(site, person),
    }  # fmt: skip
    status = 422 if problem else 200
    make = {
        "invited": _invited, "comprehension": _comprehension, "ratings": _ratings, "tasks": _task, "comment": _comment,
        "done": _done, "excluded": _excluded,
    }[person.stage]  # fmt: skip
    template, more = make(site, person, words, query, context)
    return site.page(template, words, status=status, **{**context, **more})


Made = tuple[str, dict[str, Any]]
Query = Mapping[str, str]


def _progress(site: Site, person: Participant) -> dict[str, int]:
    """Which of how many steps this is."""
    study = site.study
    tasks = _number_of_tasks(site)
    before = ["comprehension"] * bool(study.comprehension) + ["ratings"]
    steps = len(before) + tasks + study.thanks.comment
    if person.stage in before:
        return {"step": before.index(person.stage) + 1, "steps": steps}
    if person.stage == "tasks":
        return {"step": len(before) + (current_task(site.storage, person.id) or tasks), "steps": steps}
    return {"step": steps, "steps": steps} if person.stage == "comment" else {"step": 0, "steps": 0}


def _number_of_tasks(site: Site) -> int:
    study, planted = site.study, site.study.checks.same + site.study.checks.random
    if isinstance(study.form, Rank):
        return 1
    if isinstance(study.form, Rate):
        return len(study.systems) + planted
    return (study.form.pairs or len(study.systems) * (len(study.systems) - 1) // 2) + planted


def _invited(site: Site, person: Participant, words: Words, query: Query, context: dict[str, Any]) -> Made:
    action = f"{context['address']}/agree"
    hidden = {"lang": words.language}
    return "information", {"action": action, "hidden": hidden, "languages": site.languages({}), "closed": ""}


def _comprehension(site: Site, person: Participant, words: Words, query: Query, context: dict[str, Any]) -> Made:
    form = site.form_token(person.id, "comprehension", str(person.comprehension_tries))
    problem = context["problem"] or (words("comprehension_wrong") if person.comprehension_tries else "")
    return "comprehension", {"questions": site.study.comprehension, "form": form, "problem": problem}


def _ratings(site: Site, person: Participant, words: Words, query: Query, context: dict[str, Any]) -> Made:
    if not site.study.ratings.least:
        return "ready", {}
    page = query.get("page", "0")
    number = int(page) % site.browsing.pages if page.isdecimal() and len(page) < 9 else 0
    asked, items = query.get("q", ""), site.catalogue.items
    ratings = ratings_by_code(site, person)
    return "ratings", {
        "query": asked, "found": [items[code] for code in site.finder.find(asked)], "page": number,
        "pages": site.browsing.pages, "offered": [items[code] for code in site.browsing.page(person.number, number)],
        "ratings": ratings, "rated": [items[code] for code in ratings], "scale": scale_numbers(site.study),
        "least": site.study.ratings.least,
    }  # fmt: skip


def ratings_by_code(site: Site, person: Participant) -> dict[int, float]:
    """A participant's ratings by the code of the item, whole numbers as such."""
    codes = site.catalogue.codes
    ratings = ratings_of(site.storage, person.id)
    return {codes[one]: int(value) if value.is_integer() else value for one, value in ratings.items() if one in codes}


def _task(site: Site, person: Participant, words: Words, query: Query, context: dict[str, Any]) -> Made:
    task = current_task(site.storage, person.id)
    assert task is not None
    plan = [one for one in site.storage.plan_of(person.id) if one.task == task]
    form = site.form_token(person.id, "task", str(task))
    shared = {
        "form": form,
        "task": task,
        "tasks": _number_of_tasks(site),
        "visible": site.study.lists.visible,
        "wide": True,
    }
    if isinstance(site.study.form, Rank):
        return "rank", {**shared, **_rank(site, person, plan, query, context)}
    lists = lists_of(site.storage, person.id)
    shown = [{"label": one.label, "items": site.catalogue.shown(lists[one.system])} for one in plan]
    if isinstance(site.study.form, Pair):
        return "pair", {**shared, "lists": shown, "reasons": site.study.form.reasons}
    return "rate", {**shared, "lists": shown, "scales": site.study.scales, "marks": site.study.form.marks}


def _rank(
    site: Site, person: Participant, plan: list[Planned], query: Query, context: dict[str, Any]
) -> dict[str, Any]:
    assert isinstance(site.study.form, Rank)
    label = query.get("list", "")
    chosen = next((one for one in plan if one.label == label), plan[0])
    draft = context["typed"] or draft_of(site.storage, person.id, chosen.task)
    return {
        "lists": [{"label": one.label} for one in plan], "label": chosen.label, "typed": draft,
        "items": items_of(site, person, chosen), "blanks": site.study.form.blanks, "ties": site.study.form.ties,
    }  # fmt: skip


def items_of(site: Site, person: Participant, planned: Planned) -> list[Any]:
    """The items of one of a participant's lists."""
    return site.catalogue.shown(lists_of(site.storage, person.id)[planned.system])


def _comment(site: Site, person: Participant, words: Words, query: Query, context: dict[str, Any]) -> Made:
    return "comment", {"most": MOST_COMMENT}


def _done(site: Site, person: Participant, words: Words, query: Query, context: dict[str, Any]) -> Made:
    return "done", {"code": site.study.thanks.code, "leave": site.study.thanks.address}


def _excluded(site: Site, person: Participant, words: Words, query: Query, context: dict[str, Any]) -> Made:
    return "message", {"heading": words("excluded_title"), "text": words("excluded"), "back": ""}
