"""A value that is worked out when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Once(Generic[Value]):
    """Called like the function that makes the value; to another process it goes as the value.

    >>> import pickle
    >>> calls = []
    >>> once = Once(lambda: calls.append(1) or 7)
    >>> once(), once(), pickle.loads(pickle.dumps(once))(), len(calls)
    (7, 7, 7, 1)
    """

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._made: list[Value] = []

    def __call__(self) -> Value:
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    def __reduce__(self) -> Any:
        return Once._of, (self(),)

    @staticmethod
    def _of(value: Value) -> Once[Value]:
        known: Once[Value] = Once(lambda: value)
        return known
