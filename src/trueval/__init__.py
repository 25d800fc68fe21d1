"""trueval: measure recommender systems by what is true, not by what is popular."""

from __future__ import annotations

__version__ = "0.1.0"
