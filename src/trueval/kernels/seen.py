"""How many of the items shown were known already: the compiled loop of `loops.seen`."""

from __future__ import annotations

from trueval.kernels.machine_code import Kernel

count_seen = Kernel("seen", "count_seen")
