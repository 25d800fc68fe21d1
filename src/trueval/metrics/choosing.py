"""Which metric when: questions, answers, and the metrics that each answer asks for.

`trueval metrics --choose` asks them; the documentation prints them as a page. Both read `QUESTIONS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trueval.errors import DefinitionError, suggest

CUTOFF = 10
_LISTS = ("lists", "model")


@dataclass(frozen=True, slots=True)
class Answer:
    """A possible answer: its word, what it says, and metrics with the reason for each; k stands for the cutoff."""

    word: str
    says: str
    metrics: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and for which answers to the first question it is asked."""

    word: str
    asks: str
    answers: tuple[Answer, ...]
    have: tuple[str, ...] = ()  # () is always

    def answer(self, word: str) -> Answer:
        """An answer by its word."""
        known = {one.word: one for one in self.answers}
        if word not in known:
            raise DefinitionError(f"{self.word} cannot be {word!r}", do=f"{self.asks} {suggest(word, known)}")
        return known[word]


QUESTIONS = (
    Question(
        "have",
        "What do you have?",
        (
            Answer("lists", "recommended lists in files", {}),
            Answer("model", "a model and a log, so that every item can be ranked", {}),
            Answer(
                "ratings",
                "predicted ratings",
                {
                    "rmse": "large errors count more than small ones",
                    "mae": "every error counts by its size, so that a few outliers matter less",
                },
            ),
            Answer(
                "clicks",
                "predicted click probabilities, with what happened",
                {
                    "logloss": "judges the probabilities themselves, and punishes confident mistakes",
                    "ece": "says how far predicted and observed shares are apart",
                    "gauc": "judges the order within each user, which is what a user sees",
                },
            ),
            Answer("ab", "a log of an A/B test", {}),
            Answer("policy", "a log of a live policy, and another policy to judge", {}),
        ),
    ),
    Question(
        "goal",
        "What should a list do?",
        (
            Answer(
                "first",
                "put the best items first, where some are better than others",
                {"ndcg@k": "uses the rank and the grade of every relevant item: the usual choice"},
            ),
            Answer(
                "one",
                "show one good item soon",
                {
                    "rr@k": "only the rank of the first relevant item counts",
                    "hit@k": "how many users get anything good at all",
                },
            ),
            Answer(
                "all",
                "find all the good items",
                {
                    "recall@k": "the share of a user's relevant items that is shown",
                    "ap@k": "the same, and earlier is better",
                },
            ),
            Answer(
                "places",
                "waste no place",
                {
                    "precision@k": "the share of the places that holds a relevant item",
                    "f1@k": "precision and recall in one number",
                },
            ),
            Answer(
                "avoid",
                "show nothing that users dislike",
                {
                    "antiprecision@k": "the share of the places that holds an item known to be disliked",
                    "fallout@k": "the share of the disliked items that is shown",
                },
            ),
            Answer(
                "interests",
                "serve all of a user's interests",
                {
                    "alpha_ndcg@k": "an aspect that was shown before counts less",
                    "srecall@k": "the share of the aspects that the list covers",
                },
            ),
        ),
        have=_LISTS,
    ),
    Question(
        "beyond",
        "What else should the lists be?",
        (
            Answer(
                "catalogue",
                "spread over the catalogue",
                {
                    "coverage@k": "the share of the catalogue that anyone is shown",
                    "gini@k": "how unevenly the places fall on items",
                },
            ),
            Answer("varied", "varied within a list", {"ild@k": "the mean distance between the items of a list"}),
            Answer("new", "new to users", {"novelty@k": "how little known the recommended items are, in bits"}),
            Answer(
                "surprising",
                "relevant, and not what everybody gets",
                {"serendipity@k": "counts hits that a popularity list does not have"},
            ),
            Answer(
                "tail",
                "fair to items that few know",
                {
                    "tail_share@k": "the share of the places that holds tail items",
                    "tail_coverage@k": "the share of the tail that anyone is shown",
                },
            ),
        ),
        have=_LISTS,
    ),
    Question(
        "judgements",
        "Where do the judgements come from?",
        (
            Answer(
                "chosen",
                "users rated or bought what they came across",
                {"unjudged@k": "the share of the places about which the test set says nothing: read it first"},
            ),
            Answer(
                "shown",
                "clicks on what a live system showed, by position",
                {"snips(recall)@k": "weights what was rarely shown up; needs propensities"},
            ),
            Answer(
                "pooled",
                "few items per user were judged, liked or not",
                {
                    "bpref": "compares judged items only: of complete rankings, for lists of ten hold too few",
                    "infap": "estimates average precision as if all had been judged",
                },
            ),
            Answer("random", "users rated items that were drawn at random", {}),
        ),
        have=_LISTS,
    ),
)
# What a model can answer and lists that end somewhere cannot.
WHOLE_RANKING = {"auc": "the whole ranking counts, not only its top: how often a relevant item is above another"}
RULE = (
    "Report an accuracy metric and one beyond accuracy, state k, the relevance threshold and the design, "
    "and compare with a random ranking and with popularity."
)


@dataclass(frozen=True, slots=True)
class Choice:
    """The metrics for some answers, each with its reason, and a command that measures them."""

    metrics: Mapping[str, str]
    command: str


def questions_for(have: str) -> list[Question]:
    """The questions after the first one, for those who have this.

    >>> [one.word for one in questions_for("lists")], questions_for("ratings")
    (['goal', 'beyond', 'judgements'], [])
    """
    QUESTIONS[0].answer(have)
    return [one for one in QUESTIONS[1:] if have in one.have]


def read_answers(text: str) -> dict[str, str]:
    """Answers from `have=lists,goal=one,k=5`.

    >>> read_answers("have=lists, goal=one,k=5")
    {'have': 'lists', 'goal': 'one', 'k': '5'}
    """
    found: dict[str, str] = {}
    known = [*(one.word for one in QUESTIONS), "k"]
    for part in filter(None, (part.strip() for part in text.split(","))):
        word, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or word not in known:
            raise DefinitionError("question=answer was expected", found=part, do=suggest(word, known))
        if word in found:
            raise DefinitionError(f"{word} is answered twice", found=text)
        found[word] = value
    return found


def read_cutoff(text: str) -> int:
    """How many places count.

    >>> read_cutoff("5")
    5
    """
    if not text.isdecimal() or not 0 < int(text) <= 10**6:
        raise DefinitionError("k must be a whole number from 1 to 1,000,000", found=text, do="for example k=10")
    return int(text)


def choose(answers: Mapping[str, str]) -> Choice:
    """The metrics for these answers. Questions without an answer add none, except that `have` is needed.

    >>> choose({"have": "lists", "goal": "one", "beyond": "catalogue", "k": "5"}).command
    'trueval evaluate recs.parquet --test test.parquet --items items.parquet --metrics "rr@5,hit@5,coverage@5,gini@5"'
    """
    if "have" not in answers:
        raise DefinitionError("the first question is not answered", do=f"have={'|'.join(_words(QUESTIONS[0]))}")
    have, asked = answers["have"], questions_for(answers["have"])
    for word in answers:
        if word not in {"have", "k", *(one.word for one in asked)}:
            raise DefinitionError(f"{word} is not asked of those who have {have}", do=f"leave {word} out")
    k = read_cutoff(answers.get("k", str(CUTOFF)))
    found = dict(QUESTIONS[0].answer(have).metrics)
    for question in asked:
        if question.word in answers:
            found |= question.answer(answers[question.word]).metrics
    if have == "model":
        found |= WHOLE_RANKING
    metrics = {name.replace("@k", f"@{k}"): why for name, why in found.items()}
    return Choice(metrics, _command(have, list(metrics)))


def _words(question: Question) -> list[str]:
    return [answer.word for answer in question.answers]


def _command(have: str, metrics: Sequence[str]) -> str:
    """A command, or lines of Python where no command takes models, that measures them."""
    if have == "ab":
        return 'trueval ab users.csv --arm version --metrics "ctr=clicks/impressions,conversion=converted"'
    if have == "policy":
        return "trueval ope log.csv --target policy.csv"
    if have == "clicks":
        return "trueval calibrate test.csv --validation validation.csv"
    if have == "ratings":
        return f'trueval evaluate predictions.csv --test test.csv --metrics "{",".join(metrics)}"'
    needed = _inputs(metrics)
    if have == "model":
        return f'tv.evaluate(parts, systems=["popularity", my_model], design="AR-AI-AN", metrics={metrics!r})'
    files = "".join(f" --{name} {name}.parquet" for name in ("train", "items") if name in needed)
    weights = " --propensity display_share:displays.csv" if any(m.startswith("snips") for m in metrics) else ""
    return f'trueval evaluate recs.parquet --test test.parquet{files}{weights} --metrics "{",".join(metrics)}"'


def _inputs(metrics: Sequence[str]) -> set[str]:
    """Which files the metrics need beside the lists and the test set."""
    from trueval.metrics.grammar import parse

    needs = {need for metric in metrics for need in parse(metric).metric.needs}
    system = any(parse(metric).metric.system for metric in metrics)
    train = {"train"} if needs & {"popularity", "positives", "train", "interest"} else set()
    items = {"items"} if system or needs & {"features", "aspects"} else set()
    return train | items
