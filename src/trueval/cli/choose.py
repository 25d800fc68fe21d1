"""trueval metrics --choose: a few questions, and the metrics for the answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from trueval.errors import DefinitionError
from trueval.metrics.choosing import CUTOFF, QUESTIONS, RULE, Choice, Question, choose, questions_for, read_answers
from trueval.render.terminal import console_for, fill
from trueval.render.widths import READING_WIDTH


def chosen(text: str | None) -> str:
    """The metrics for answers that are given as text, or asked for one by one where there are none."""
    answers = ask() if text is None else read_answers(text)
    return rendered(choose(answers), answers)


def ask() -> dict[str, str]:
    """Ask on standard error, read from standard input, so that the result alone is on standard output."""
    answers = {"have": _asked(QUESTIONS[0])}
    following = questions_for(answers["have"])
    for question in following:
        answers[question.word] = _asked(question)
    if following:
        answers["k"] = _line(f"How many places of a list do users see? [{CUTOFF}] ") or str(CUTOFF)
    return answers


def _asked(question: Question) -> str:
    """The word of an answer, given as its number or its word; the first where the line is empty."""
    for place, answer in enumerate(question.answers, start=1):
        begin = f"{question.asks}\n" if place == 1 else ""
        sys.stderr.write(f"{begin}  {place}  {answer.says} ({answer.word})\n")
    word = _line("Number or word [1]: ") or "1"
    if word.isdecimal() and 0 < int(word) <= len(question.answers):
        return question.answers[int(word) - 1].word
    return question.answer(word).word


def _line(prompt: str) -> str:
    sys.stderr.write(prompt)
    sys.stderr.flush()
    try:
        line = sys.stdin.readline()
    except UnicodeDecodeError as problem:
        raise DefinitionError(
            "the answer is not text", where="standard input", found=ascii(problem.object[:20])[1:],
            do="type the number or the word of an answer, or answer by option (--answers)",
        ) from None  # fmt: skip
    if not line:
        raise DefinitionError(
            "the questions were not answered",
            found="the end of standard input",
            do="answer by option: --answers have=lists,goal=first,beyond=catalogue,judgements=chosen,k=10",
        )
    sys.stderr.write("" if sys.stdin.isatty() else "\n")
    return line.strip()


def rendered(choice: Choice, answers: Mapping[str, str]) -> str:
    """The metrics with their reasons, the rule for all of them, a command, and the answers to repeat it.

    >>> print(rendered(choose({"have": "ratings"}), {"have": "ratings"}).splitlines()[0])
    rmse  large errors count more than small ones
    """
    width = max(map(len, choice.metrics), default=0)
    lines = [f"{name:<{width}}  {why}" for name, why in choice.metrics.items()]
    if not lines:
        lines = ["This is measured by commands of its own:"]
    if answers["have"] in ("lists", "model"):
        lines += ["", fill(RULE, min(READING_WIDTH, console_for(sys.stdout).width))]
    again = ",".join(f"{word}={answer}" for word, answer in answers.items())
    return "\n".join([*lines, "", choice.command, "", f"again: trueval metrics --choose --answers {again}"]) + "\n"
