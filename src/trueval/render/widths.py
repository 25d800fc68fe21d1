"""How wide text may be where no window says it. Imports nothing, for every command looks here."""

from __future__ import annotations

PIPED_WIDTH = 160  # of tables in a pipe or a file, which can be scrolled
READING_WIDTH = 110  # of what is mostly sentences, also in a wider window
