"""The record of a system: what it does, needs and takes, for whoever makes, lists or reports it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueval.errors import DefinitionError, suggest
from trueval.recommenders.parameters import SystemParameter


@dataclass(frozen=True)
class System:
    """A registered system. `oracle`: it reads the test part, so its values are bounds, not results."""

    name: str
    make: Callable[..., Any]
    objective: str
    reference: str
    parameters: Mapping[str, SystemParameter]
    needs: str | None = "rows"
    personalised: bool = True
    oracle: bool = False
    caution: str = ""  # what a reader of its values must know, for example that a library's fit is not repeatable

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.make) or "").split("\n")[0]

    def __repr__(self) -> str:
        lines = [f"{self.name}: {self.summary}", "", f"  objective   {self.objective}"]
        needs = {"values": "a value column", "rows": "a train log", None: "nothing"}[self.needs]
        lines.append(f"  needs       {needs}" + (" and the test part: it is an oracle" if self.oracle else ""))
        lines.append(f"  lists       {'for each user' if self.personalised else 'the same for everybody'}")
        lines += [f"  parameter   {one}" for one in self.parameters.values()]
        lines += [f"  caution     {self.caution}"] * bool(self.caution)
        return "\n".join([*lines, f"  reference   {self.reference}"])

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Refuse names of parameters that the system does not have."""
        for name in parameters:
            if name not in self.parameters:
                known = suggest(name, self.parameters) if self.parameters else "it has none"
                raise DefinitionError(f"{self.name} has no parameter {name!r}", found=f"{name!r}; {known}")

    def check_call(self, positions: Sequence[Any], fields: Mapping[str, Any]) -> None:
        """Refuse a call of the class with values by position, where they mean nothing, or with fields it lacks."""
        known = [one.field for one in self.parameters.values()]
        if positions:
            raise DefinitionError(
                f"parameters of {self.name} are given by name",
                found=", ".join(map(repr, positions)),
                do=f"write {', '.join(f'{field}=…' for field in known)}" if known else "it has none",
            )
        for name in fields:
            if name not in known:
                found = suggest(name, known) if known else "it has none"
                raise DefinitionError(f"{self.name} has no parameter {name!r}", found=f"{name!r}; {found}")

    def read(self, text: str) -> dict[str, Any]:
        """Parameters from `name=value, name=value`."""
        found: dict[str, Any] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or not value:
                raise DefinitionError(f"name=value was expected for {self.name}", found=part)
            if name in found:
                raise DefinitionError(f"{name} of {self.name} is given twice", found=text)
            self.check({name: value})
            found[name] = self.parameters[name].read(value, system=self.name)
        return found
