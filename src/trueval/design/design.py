"""Design: who is ranked against whom. A design is a short string, and an object that prints as it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from trueval.design.popular_head import check_head_share, head_word
from trueval.design.targets import SEEN
from trueval.errors import DefinitionError, suggest
from trueval.render.shown import ShownFields

# Words that set one axis, beside the first and those with a number: word, axis, value; in the order they are written.
_SWITCHES = {
    "condensed": ("condensed", True),
    "resample": ("resample", True),
    "seen": ("seen", "allow"),
}
LARGEST_SAMPLE = 100_000_000  # items; no catalogue is larger, and a sample of all of them is AN
MOST_PERCENTILES = 100_000
_HINT = "for example AR-TI-AN, AR-AI-NN1000, 1R-TI-NN100, P1R10-TI-NN100, U1R, AR-TI-AN-head10"
_RUN_HINT = "given, and perhaps head10, condensed or seen: given-head10-condensed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Design(ShownFields):
    """Whom the relevant items are ranked against: the axes of target-set formation (Bellogín et al. 2017, Table 3).

    A design has a short name, such as "1R-TI-NN100", and prints as it; `Design.parse` reads names.

    Attributes
    ----------
    relevant : {"AR", "1R"}, default "AR"
        Rank all relevant items of a user together, or each one alone.
    candidates : {"AI", "TI", "LIST"}, default "TI"
        All items, items with a test rating by anyone, or a given catalogue.
    sample : int, default 0
        Number of sampled non-relevant items (NN); 0 takes all of them (AN).
    weights : {"uniform", "popularity"}, default "uniform"
        How they are sampled.
    percentiles : int, default 0
        P1R: each relevant item against its own popularity percentile, of so many; 0 is off.
    uniform : bool, default False
        U: made for a `uniform_test` split.
    head : number, default 0.0
        Share of the most-rated items (in train and test) removed from test and candidates.
    condensed : bool, default False
        Rank judged items only.
    seen : {"exclude", "allow"}, default "exclude"
        Whether a user's train items are ranked.
    resample : bool, default False
        In 1R, a sample of its own for every relevant item.

    Examples
    --------
    >>> Design.parse("1R-TI-NN100").sample
    100
    >>> str(Design(relevant="1R", uniform=True))
    'U1R'
    """

    relevant: str = "AR"
    candidates: str = "TI"
    sample: int = 0
    weights: str = "uniform"
    percentiles: int = 0
    uniform: bool = False
    head: float = 0.0
    condensed: bool = False
    seen: str = "exclude"
    resample: bool = False

    def __post_init__(self) -> None:
        _choice("relevant", self.relevant, ("AR", "1R"))
        _choice("candidates", self.candidates, ("AI", "TI", "LIST"))
        _choice("weights", self.weights, ("uniform", "popularity"))
        _choice("seen", self.seen, SEEN)
        if self.sample < 0 or self.percentiles < 0 or not 0 <= self.head < 1:
            raise DefinitionError("sample, percentiles and head must not be negative, head below 1", found=repr(self))
        _at_most("a sample", self.sample, LARGEST_SAMPLE, "take all non-relevant items: AN")
        _at_most("the number of percentiles", self.percentiles, MOST_PERCENTILES, "10 are usual: P1R10-TI-AN")
        if self.percentiles and self.relevant != "1R":
            raise DefinitionError(
                "percentiles need one relevant item per target set", found=str(self), do="use P1R10-…"
            )
        if self.weights != "uniform" and not self.sample:
            raise DefinitionError("weights are for sampled designs", found=repr(self), do="for example AR-TI-NN100pop")
        if self.resample and (self.relevant != "1R" or not self.sample):
            raise DefinitionError(
                "resample needs a sampled 1R design", found=str(self), do="for example 1R-TI-NN100-resample"
            )
        if self.condensed and (self.relevant == "1R" or self.sample):
            raise DefinitionError(
                "condensed rankings are for AR designs with all targets",
                found=str(self),
                do="AR-TI-AN-condensed",
            )

    def __str__(self) -> str:
        first = ("U" if self.uniform else "") + ("P" if self.percentiles else "") + self.relevant
        words = [first + (str(self.percentiles) if self.percentiles else "")]
        others = f"NN{self.sample}{'pop' if self.weights == 'popularity' else ''}" if self.sample else "AN"
        if not (self.uniform and self.candidates == "TI" and others == "AN"):
            words += [self.candidates, others]
        words += [head_word(self.head)] if self.head else []
        words += [word for word, (axis, value) in _SWITCHES.items() if getattr(self, axis) == value]
        return "-".join(words)

    @staticmethod
    def parse(text: str | Design) -> Design:
        """Read a short name; the order of its words after the first does not matter.

        Parameters
        ----------
        text : text or Design
            For example AR-TI-AN, AR-AI-NN1000, 1R-TI-NN100, P1R10-TI-NN100, U1R, AR-TI-AN-head10.

        Returns
        -------
        Design
            The design.

        Raises
        ------
        TruevalError
            For words that do not exist or contradict each other.
        """
        if isinstance(text, Design):
            return text
        if not isinstance(text, str):
            raise DefinitionError("a design must be given as text", found=type(text).__name__, do=_HINT)
        axes: dict[str, object] = {}
        for word in text.strip().split("-"):
            for axis, value in _word(word, text).items():
                if axis in axes:
                    raise DefinitionError(
                        f"the design names the same axis twice: {axis}", where=text, found=word, do=_HINT
                    )
                axes[axis] = value
        if "relevant" not in axes:
            raise DefinitionError("the design does not say AR or 1R", where=text, do=_HINT)
        if axes.get("resample") and not axes.get("sample"):
            raise DefinitionError("resample needs a sample", where=text, do="for example 1R-TI-NN100-resample")
        return Design(**axes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDesign(ShownFields):
    """The design of given lists, written in the same words as other designs.

    head: share of the most-rated items whose judgements are removed; the lists stay as they are.
    condensed: drop unjudged items from the lists.  seen: "exclude" a user's train items from the targets, or "allow".

    >>> RunDesign.parse("given-head10-condensed").head
    0.1
    >>> str(RunDesign(head=0.1, seen="allow"))
    'given-head10-seen'
    """

    head: float | None = None
    condensed: bool = False
    seen: str = "exclude"

    def __str__(self) -> str:
        words = ["given"] + ([] if self.head is None else [head_word(self.head)])
        return "-".join(words + ["condensed"] * self.condensed + ["seen"] * (self.seen == "allow"))

    @staticmethod
    def parse(text: str | RunDesign) -> RunDesign:
        """Read a short name; the order of its words after the first does not matter."""
        if isinstance(text, RunDesign):
            return text
        if not isinstance(text, str):
            raise DefinitionError("a design must be given as text", found=type(text).__name__, do=_RUN_HINT)
        first, *words = text.strip().split("-")
        if first.upper() != "GIVEN":
            raise DefinitionError(
                "given lists keep their order, so the name of their design must begin with given",
                where=text,
                found=first,
                do=f'{_RUN_HINT}; other designs take evaluate(parts, {{"name": Run(recs)}}, design=…)',
            )
        axes: dict[str, object] = {}
        for word in words:
            ((axis, value),) = _run_word(word, text).items()
            if axis in axes:
                raise DefinitionError(
                    f"the design names the same axis twice: {axis}", where=text, found=word, do=_RUN_HINT
                )
            axes[axis] = value
        if "head" in axes:
            check_head_share(axes["head"], where=text)
        return RunDesign(**axes)  # type: ignore[arg-type]


def choose_run_design(
    design: str | RunDesign | None, *, without_head: float | None, condensed: bool | None, seen: str | None
) -> RunDesign:
    """The design of given lists by its name, by the options that are short forms of its words, or by both.

    An option that is None was not given; one that contradicts the name is refused.

    >>> str(choose_run_design(None, without_head=0.1, condensed=True, seen=None))
    'given-head10-condensed'
    """
    options: dict[str, Any] = {"head": without_head, "condensed": condensed, "seen": seen}
    given = {axis: value for axis, value in options.items() if value is not None}
    if without_head is not None:
        given["head"] = check_head_share(without_head, where="without_head")
    if seen is not None and seen not in SEEN:
        raise DefinitionError(f"seen must be {' or '.join(SEEN)}", found=repr(seen), do='seen="allow" (--seen allow)')
    if design is None:
        return RunDesign(**given)
    chosen = RunDesign.parse(design)
    for axis, value in given.items():
        by_option = RunDesign(**{axis: value})
        if str(by_option) != str(RunDesign(**{axis: getattr(chosen, axis)})):  # a head by the digits of its word
            option = {"head": "without_head"}.get(axis, axis)
            raise DefinitionError(
                f"the design and {option} contradict each other",
                where=str(chosen),
                found=f"{option}={value!r}, which is {by_option}",
                do=f"leave {option} out, or write it into the design",
            )
    return chosen


def _run_word(word: str, text: str) -> dict[str, object]:
    """The axis that one word sets in the name of a design of given lists."""
    known = ("HEAD10", "CONDENSED", "SEEN")
    if not re.fullmatch(r"HEAD\d+(?:\.\d+)?|CONDENSED|SEEN", word.upper()):
        raise DefinitionError(
            f"unknown word in a design of given lists: {word!r}", where=text,
            found=f"{word!r}; {suggest(word.upper(), known)}", do=_RUN_HINT,
        )  # fmt: skip
    return _word(word, text)


def _word(word: str, text: str) -> dict[str, object]:
    """The axes that one word of a short name sets."""
    upper = word.upper()
    if found := re.fullmatch(r"(U?)(P?)(AR|1R)(\d*)", upper):
        uniform, percentiles, relevant, number = found.groups()
        if bool(percentiles) != bool(number):
            raise DefinitionError(
                "percentiles are written P1R10: P, 1R, their number", where=text, found=word, do=_HINT
            )
        if number and not _whole(number):
            raise DefinitionError("there must be at least one percentile", where=text, found=word, do=_HINT)
        axes: dict[str, object] = {"relevant": relevant}
        return axes | ({"uniform": True} if uniform else {}) | ({"percentiles": _whole(number)} if percentiles else {})
    if upper in ("AI", "TI", "LIST"):
        return {"candidates": upper}
    if upper == "AN":
        return {"sample": 0}
    if found := re.fullmatch(r"NN(\d+)(POP)?", upper):
        size, popular = _whole(found[1]), found[2]
        if not size:
            raise DefinitionError("a sample must have at least one item", where=text, found=word, do=_HINT)
        return {"sample": size} | ({"weights": "popularity"} if popular else {})
    if found := re.fullmatch(r"HEAD(\d+(?:\.\d+)?)", upper):
        return {"head": float(found[1] + "e-2")}  # the decimal that was written, not the quotient
    if word.lower() in _SWITCHES:
        axis, value = _SWITCHES[word.lower()]
        return {axis: value}
    known = (
        "AR", "1R", "P1R10", "U1R", "UAR", "AI", "TI", "LIST", "AN", "NN100", "NN100POP", "HEAD10",
        *(switch.upper() for switch in _SWITCHES),
    )  # fmt: skip
    raise DefinitionError(
        f"unknown word in a design: {word!r}", where=text, found=f"{word!r}; {suggest(upper, known)}", do=_HINT
    )


def _whole(digits: str) -> int:
    """The number that some digits write; of thousands of digits, which Python does not read, one as much too large."""
    return int(digits) if len(digits) <= 18 else int("9" * 18)


def _at_most(what: str, number: int, most: int, instead: str) -> None:
    if number > most:
        raise DefinitionError(f"{what} must be at most {most:,}", where="design", found=f"{number:,}", do=instead)


def _choice(axis: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise DefinitionError(
            f"unknown {axis} in a design: {value!r}", found=f"{value!r}; {suggest(value, choices)}", do=_HINT
        )
