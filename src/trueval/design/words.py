"""The words of designs, each with what it means: for `trueval designs`, its pictures and the documentation."""

from __future__ import annotations

from dataclasses import dataclass

from trueval.design.design import Design, RunDesign


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a design's name: what it decides, what it means, and a small design that has it."""

    word: str
    decides: str
    means: str
    example: str


WORDS = (
    Word("AR", "relevant items", "all relevant items of a user are ranked together", "AR-TI-AN"),
    Word("1R", "relevant items", "each relevant item of a user is ranked alone, without the others", "1R-TI-AN"),
    Word(
        "P1R10",
        "relevant items",
        "1R, and each relevant item only against items of its own popularity percentile (of 10)",
        "P1R2-AI-AN",
    ),
    Word("U1R", "relevant items", "1R on a uniform test: equally many test ratings for every candidate item", "U1R"),
    Word("UAR", "relevant items", "AR on a uniform test", "UAR"),
    Word("AI", "candidates", "all items of the log, or of the catalogue where one is given", "AR-AI-AN"),
    Word("TI", "candidates", "items that anyone has rated in the test set", "AR-TI-AN"),
    Word("LIST", "candidates", "a given list of items, for all users or for each user", "AR-LIST-AN"),
    Word("AN", "non-relevant items", "all candidates that are not relevant to the user", "AR-AI-AN"),
    Word(
        "NN100",
        "non-relevant items",
        "a random sample of 100 candidates that are not relevant, for each user",
        "1R-AI-NN2",
    ),
    Word(
        "NN100pop",
        "non-relevant items",
        "a sample of 100 candidates that are not relevant, in which popular items are likelier",
        "1R-AI-NN2pop",
    ),
    Word("head10", "other", "without the tenth of the items that has most ratings", "AR-AI-AN-head10"),
    Word("condensed", "other", "only judged items are ranked; unjudged ones are removed", "AR-TI-AN-condensed"),
    Word("resample", "other", "in 1R, a sample of its own for every relevant item", "1R-AI-NN2-resample"),
    Word("seen", "other", "items of the user's train rows are ranked like others", "AR-AI-AN-seen"),
    Word("given", "given lists", "lists that were made elsewhere, in their own order", "given"),
)
_BY_WORD = {one.word: one for one in WORDS}


def words_of(design: Design | RunDesign) -> list[tuple[str, str]]:
    """The words of a design's name with their meaning, numbers as they are in the name.

    >>> [word for word, _ in words_of(Design.parse("P1R2-TI-NN5pop-head20"))]
    ['P1R2', 'TI', 'NN5pop', 'head20']
    >>> words_of(Design.parse("U1R"))[0][1]
    '1R on a uniform test: equally many test ratings for every candidate item'
    """
    return [(word, _meaning(word, design)) for word in str(design).split("-")]


def _meaning(word: str, design: Design | RunDesign) -> str:
    if word in _BY_WORD:
        return _BY_WORD[word].means
    if isinstance(design, Design) and design.percentiles and word.endswith(f"P1R{design.percentiles}"):
        start = "on a uniform test, " if design.uniform else ""
        return start + _BY_WORD["P1R10"].means.replace("of 10", f"of {design.percentiles}")
    if isinstance(design, Design) and word.startswith("NN"):
        return _BY_WORD["NN100pop" if word.endswith("pop") else "NN100"].means.replace("100", str(design.sample))
    return f"without the {word.removeprefix('head')} % of the items that have most ratings"
