"""How often each user of a block is drawn, in many resamples: the compiled loop of `loops.resampling`."""

from __future__ import annotations

from trueval.kernels.machine_code import Kernel

count_draws = Kernel("resampling", "count_draws")
