"""How wide the kernels of pLSA add: apart from them, so that reading it loads no compiler."""

from __future__ import annotations

# Sums over topics run in this many lanes, which processors add side by side. Factors are padded to whole lanes.
LANES = 8
