"""When pairs are met: after the item came out and the user came in, and sooner rather than later."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from trueval.simulation.pair_draws import pair_coins
from trueval.simulation.side_tables import BEGIN, END


class Timing(Protocol):
    """When pairs are met."""

    @property
    def begin(self) -> int:
        """The first second."""
        ...

    @property
    def end(self) -> int:
        """The last second."""
        ...

    def of(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """The time of each pair, in seconds."""
        ...

    def relative(self, seconds: np.ndarray) -> np.ndarray:
        """Times with 0 at the begin and 1 at the end."""
        ...


@dataclass(frozen=True)
class Times:
    """The time of a pair is earliest + (last − earliest) · coin^fade, the coin a hash of the pair.

    `fade` above 1 means that interest is strongest at first, so that popularity drifts to newer items.
    """

    released: np.ndarray = field(repr=False)  # seconds, by item
    joined: np.ndarray = field(repr=False)
    begin: int = BEGIN
    end: int = END
    fade: float = 1.3
    seed: int = 0
    left: np.ndarray | None = field(default=None, repr=False)  # when users leave; None: at the end

    def of(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """The time of each pair, in seconds."""
        earliest = np.maximum(self.released[items], self.joined[users])
        coin = pair_coins(self.seed, "time", users, items) ** self.fade
        last = self.end if self.left is None else np.maximum(self.left[users], earliest)
        return earliest + ((last - earliest) * coin).astype(np.int64)

    def relative(self, seconds: np.ndarray) -> np.ndarray:
        """Times with 0 at the begin of the period and 1 at its end."""
        return (seconds - self.begin) / max(self.end - self.begin, 1)
