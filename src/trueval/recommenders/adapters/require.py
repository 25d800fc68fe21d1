"""Libraries that trueval works with but does not bring along."""

from __future__ import annotations

import importlib
from types import ModuleType

from trueval.errors import DefinitionError


def require(module: str, *, extra: str) -> ModuleType:
    """A module of another library, or a message that names the extra which installs it.

    >>> require("no_such_library.data", extra="surprise")
    Traceback (most recent call last):
    trueval.errors.DefinitionError: the library no_such_library is not installed
      found: no module named 'no_such_library'
      do:    pip install 'trueval[surprise]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        lacking = error.name or module
        root = module.split(".")[0]
        what = f"the library {root} is not installed" if lacking.split(".")[0] == root else f"{root} needs {lacking}"
        raise DefinitionError(
            what, found=f"no module named {lacking!r}", do=f"pip install 'trueval[{extra}]'"
        ) from None
