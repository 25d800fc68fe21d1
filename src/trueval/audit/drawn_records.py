"""Records behind the charts of an audit, each made when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class DrawnRecords(Mapping[str, Any]):
    """Records by the kind of their charts. Most audits are read without them, and some take longer than all checks.

    >>> records = DrawnRecords({"squares": lambda: [1, 4, 9]})
    >>> records, records["squares"]
    (<records: squares>, [1, 4, 9])
    """

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._makers, self._made = dict(makers), dict[str, Any]()

    def __getitem__(self, kind: str) -> Any:
        if kind not in self._made:
            self._made[kind] = self._makers[kind]()
        return self._made[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._makers  # to ask is not to make it

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __repr__(self) -> str:
        return f"<records: {', '.join(self._makers)}>"
