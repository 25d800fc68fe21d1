"""Options of `trueval split`: those of every split, as its record declares them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from trueval.splits.options import Option


class SplitCommand(TyperCommand):
    """A command that finds its options in the records of splits, once it is used: `trueval --version` loads none."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its own parameters, and the options of splits after those that are required."""
        own, found = super().get_params(ctx), _parameters()
        first = sum(param.required for param in own)
        return [*own[:first], *found, *own[first:]]

    def invoke(self, ctx: Any) -> Any:
        """Run the command, which finds the options of splits in its context."""
        ctx.obj = {param.name: ctx.params.pop(param.name) for param in _parameters()}
        return super().invoke(ctx)


def chosen(given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The split, and its options by their own names.

    >>> chosen({"how": "kfold", "folds": 3, "ratio": None}), chosen({"how": "leave_one_out", "validation": 1.0})
    (('kfold', {'n': 3}), ('leave_one_out', {'validation': 1}))
    """
    from trueval.splits.registry import find_split

    how = given["how"]
    record = find_split(how)
    names = {option.flag or name: name for name, option in record.options.items()}
    found: dict[str, Any] = {}
    for flag, value in given.items():
        if flag != "how" and value not in (None, [], ()):
            name = names.get(flag, flag)  # one that the split does not have is for the split to refuse
            found[name] = _as_declared(record.options.get(name), value)
    return how, found


def _as_declared(option: Option | None, value: Any) -> Any:
    """A value as the split takes it: flags that splits share are read in the wider way of the two."""
    if isinstance(value, (list, tuple)):
        return list(value) if len(value) > 1 or (option and option.many) else value[0]
    whole = isinstance(value, float) and value.is_integer()  # which infinity is not
    return int(value) if option and option.kind is int and whole else value


@cache
def _parameters() -> tuple[Any, ...]:
    """The options as parameters of a command, made by a command that has no others."""
    from trueval.splits.registry import all_splits

    names = [name for name, record in all_splits().items() if record.of_one_log]
    choices = f"{', '.join(names[:-1])} or {names[-1]}."
    own = [_parameter("how", Annotated[str, typer.Option("--how", help=choices)], default="holdout")]
    for flag, by_split in _flags().items():
        kinds = {option.kind for option in by_split.values()}
        kind: Any = str if str in kinds else float if float in kinds else int
        many = any(option.many for option in by_split.values())
        typed: Any = list[kind] | None if many else kind | None
        own.append(_parameter(flag, Annotated[typed, typer.Option(f"--{flag}", help=_help(by_split))]))

    def options_alone() -> None:
        """Never called: only its parameters are used."""

    options_alone.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    options_alone.__annotations__ = {parameter.name: parameter.annotation for parameter in own}
    app = typer.Typer(add_completion=False)
    app.command()(options_alone)
    return tuple(typer.main.get_command(app).params)


def _parameter(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _flags() -> dict[str, dict[str, Option]]:
    """Options by their names on the command line, and by the splits that have them."""
    from trueval.splits.registry import all_splits

    found: dict[str, dict[str, Option]] = {}
    for how, record in all_splits().items():
        for name, option in record.options.items() if record.of_one_log else ():
            found.setdefault(option.flag or name, {})[how] = option
    return found


def _help(by_split: Mapping[str, Option]) -> str:
    """Which splits have an option, and what it says there."""
    splits_by_help: dict[str, list[str]] = {}
    for how, option in by_split.items():
        splits_by_help.setdefault(option.help, []).append(how)
    return "; ".join(f"{', '.join(splits)}: {text}" for text, splits in splits_by_help.items()) + "."
