"""How people find items that they know: by words of the title, or by leafing through popular and less popular ones."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueval.kernels.seeds import derive

MOST_FOUND = 20
LONGEST_QUERY = 100
# Letters that are no letter with an accent to Unicode, but are typed without one.
_PLAIN = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"})


def folded(text: str) -> str:
    """Text without case and accents, as it is compared.

    >>> folded("Amélie ÇA Straße Łódź")
    'amelie ca strasse lodz'
    """
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    plain = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return " ".join(plain.translate(_PLAIN).split())


class Finder:
    """Titles that can be searched: every word of the query must be somewhere in the title.

    >>> finder = Finder(["The Matrix", "Amélie", "Matrix Reloaded"], np.array([5, 9, 7]))
    >>> finder.find("MATRIX"), finder.find("amelie"), finder.find("atri re"), finder.find(" ")
    ([2, 0], [1], [2], [])
    """

    def __init__(self, titles: Sequence[str], popularity: np.ndarray) -> None:
        self._titles = [f" {folded(title)}" for title in titles]
        order = np.argsort(-popularity, kind="stable").tolist()
        self._by_popularity = [(code, self._titles[code]) for code in order]

    def find(self, query: str, *, most: int = MOST_FOUND) -> list[int]:
        """Codes of items, those first in which words begin like those of the query, and popular ones before others."""
        words = folded(query[:LONGEST_QUERY]).split()
        if not words:
            return []
        begins = [f" {word}" for word in words]
        first: list[int] = []
        second: list[int] = []
        for code, title in self._by_popularity:
            if all(word in title for word in words):
                (first if all(word in title for word in begins) else second).append(code)
                if len(first) == most:
                    break
        return (first + second)[:most]


@dataclass(frozen=True)
class Browsing:
    """Pages of items to leaf through: a share of `popular` ones on every page, the others from all the rest.

    Popular are the `popular_items` share of all items that most people of the log have. Who sees which items on which
    page follows from the seed and the participant's number.
    """

    popularity: np.ndarray
    popular: float
    popular_items: float
    size: int
    seed: int

    @property
    def head(self) -> int:
        """How many items count as popular."""
        return min(len(self.popularity), max(1, round(self.popular_items * len(self.popularity))))

    @cached_property
    def _order(self) -> np.ndarray:
        """Codes by popularity."""
        return np.argsort(-self.popularity, kind="stable")

    @property
    def pages(self) -> int:
        """How many pages there are for everybody."""
        return -(-len(self.popularity) // self.size)

    def page(self, participant: int, number: int) -> list[int]:
        """The codes on a page, counted from 0.

        >>> browsing = Browsing(np.arange(100), popular=0.5, popular_items=0.1, size=4, seed=1)
        >>> sorted(code >= 90 for code in browsing.page(0, 0))
        [False, False, True, True]
        """
        rng = np.random.default_rng(int(derive(self.seed, f"browsing of participant {participant}")))
        head, tail = rng.permutation(self._order[: self.head]), rng.permutation(self._order[self.head :])
        # the n-th popular item has its place by its share of all so far, and so has the n-th other one
        share = min(max(self.popular, 1e-9), 1 - 1e-9)
        places = np.concatenate([(np.arange(len(head)) + 0.5) / share, (np.arange(len(tail)) + 0.5) / (1 - share)])
        mixed = np.concatenate([head, tail])[np.argsort(places, kind="stable")]
        return [int(code) for code in mixed[number * self.size : (number + 1) * self.size]]
