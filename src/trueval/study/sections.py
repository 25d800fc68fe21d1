"""The sections of a study file, with all their keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trueval.online.user_study.blanks import BLANKS
from trueval.study.plan import FORMS
from trueval.study.section_keys import (
    anything,
    choice,
    key,
    numbers,
    phrase,
    share,
    switch,
    tables,
    texts,
    whole,
)


@dataclass(frozen=True)
class About:
    """[study]: what the study is called and asks, and how many are planned."""

    title: str = key(phrase("Which list would you choose?"))
    form: str = key(choice(*FORMS))
    participants: int = key(whole(1, 1_000_000), 30)
    seed: int = key(whole(0, 2**31 - 1), 0)
    languages: list[str] = key(texts(), ["en"])
    most_open: int = key(whole(1, 100_000), 500)
    per_address: int = key(whole(0, 100_000), 100)


@dataclass(frozen=True)
class Data:
    """[data]: the log that systems learn from, the table of items, and a folder of pictures."""

    path: Any = key(anything())
    items: Any = key(anything(), None)
    columns: Any = key(anything(), None)
    pictures: str = key(phrase("pictures"), "")


@dataclass(frozen=True)
class Lists:
    """[lists]: how many items a list has, and how many are visible without scrolling."""

    length: int = key(whole(1, 200), 0)
    visible: int = key(whole(1, 200), 0)


@dataclass(frozen=True)
class Information:
    """[information]: what people are told before they agree."""

    text: str = key(phrase("This study is about …"))


@dataclass(frozen=True)
class Question:
    """One of [[comprehension]]: a question on the information, its answers, and the number of the right one."""

    question: str = key(phrase())
    answers: list[str] = key(texts())
    right: int = key(whole(1, 20))


@dataclass(frozen=True)
class Ratings:
    """[ratings]: how many items people rate before they see lists, on which scale, and what they are offered."""

    least: int = key(whole(0, 1000), 10)
    scale: list[float] = key(numbers(2, 10), [1, 2, 3, 4, 5])
    popular: float = key(share(), 0.5)
    popular_items: float = key(share(), 0.1)
    page: int = key(whole(2, 100), 12)


@dataclass(frozen=True)
class Rank:
    """[rank]: the question, what a list without a place means, and whether lists may share one."""

    question: str = key(phrase("Which list helps you best to find something for the weekend?"))
    blanks: str = key(choice(*BLANKS), BLANKS[0])
    ties: bool = key(switch(), False)


@dataclass(frozen=True)
class Pair:
    """[pair]: the question, how many pairs each person sees (0: all), and reasons to tick."""

    question: str = key(phrase("Which of the two lists would you rather have?"))
    pairs: int = key(whole(0, 66), 0)
    reasons: list[str] = key(texts(), [])


@dataclass(frozen=True)
class Scale:
    """One of [[rate.questions]]: a short name for exports, the question, and words for the ends of its scale."""

    name: str = key(phrase("relevance"))
    text: str = key(phrase("How well does this list fit your taste?"))
    low: str = key(phrase("not at all"), "")
    high: str = key(phrase("very well"), "")
    points: int = key(whole(2, 11), 5)


@dataclass(frozen=True)
class Rate:
    """[rate]: questions about each list, and whether its items can be marked."""

    questions: list[dict[str, Any]] = key(tables())
    marks: bool = key(switch(), True)


@dataclass(frozen=True)
class Checks:
    """[checks]: planted lists. same: one list twice; random: a list of random items."""

    same: bool = key(switch(), False)
    random: bool = key(switch(), False)


@dataclass(frozen=True)
class Thanks:
    """[thanks]: what comes last: a text, a completion code, an address to go back to."""

    text: str = key(phrase("Thank you!"), "")
    code: str = key(phrase("C0MPL3TE"), "")
    address: str = key(phrase("https://…"), "")
    comment: bool = key(switch(), True)


@dataclass(frozen=True)
class Outside:
    """[outside]: ids that a panel puts into the address, such as PROLIFIC_PID; only keyed hashes are stored."""

    ids: list[str] = key(texts(), [])


SECTIONS: dict[str, type] = {
    "study": About, "data": Data, "lists": Lists, "information": Information, "ratings": Ratings, "rank": Rank,
    "pair": Pair, "rate": Rate, "checks": Checks, "thanks": Thanks, "outside": Outside,
}  # fmt: skip
