"""The fixture `trueval_gate`: a test that fails where a recommender became worse by more than a margin.

pytest loads this module in every project of an environment with trueval, so that it imports nothing heavy.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from trueval.comparison.gate import Gate

FOLDER = "trueval-baselines"
UNSURE = ("warn", "xfail", "fail", "pass")


class GateWarning(UserWarning):
    """A gate that cannot tell, or a baseline that was written."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the fixture, on the command line and in the configuration file."""
    group = parser.getgroup("trueval", "quality of recommendations (trueval)")
    group.addoption(
        "--trueval-baselines", metavar="DIR", default=None, help=f"Folder of baselines (default: {FOLDER})."
    )
    group.addoption("--trueval-update", action="store_true", help="Write baselines instead of comparing with them.")
    group.addoption(
        "--trueval-unsure", choices=UNSURE, default=None, help="What happens where a gate cannot tell (default: warn)."
    )
    parser.addini("trueval_baselines", f"Folder of baselines, seen from the root folder (default: {FOLDER}).")
    parser.addini("trueval_unsure", f"What happens where a gate cannot tell: {', '.join(UNSURE)} (default: warn).")


class GateFixture:
    """What a test calls to compare a result with its baseline: `trueval_gate(result, "name", margin="1%")`."""

    def __init__(self, folder: Path, *, update: bool, unsure: str) -> None:
        self.folder, self.update, self.unsure = folder, update, unsure

    def __call__(
        self, result: Any, name: str, *, system: str | None = None, unsure: str | None = None, **options: Any
    ) -> Gate | None:
        """Compare a result with the baseline of this name, and fail the test where it is worse.

        `unsure` (warn, xfail, fail or pass) says what happens where the gate cannot tell; other options are those of
        `trueval.gate`. With `--trueval-update` the result becomes the baseline, and None is returned.
        """
        __tracebackhide__ = True
        from trueval.report.baselines import baseline_path, save_baseline
        from trueval.report.gate_results import gate

        reaction = _checked(self.unsure if unsure is None else unsure)
        path = baseline_path(self.folder, name)
        if self.update:
            save_baseline(result, path, system=system)
            warnings.warn(GateWarning(f"trueval: wrote the baseline {path}"), stacklevel=2)
            return None
        if not path.exists():
            pytest.fail(f"there is no baseline {path}: write it with pytest --trueval-update", pytrace=False)
        # a baseline holds one system, whatever it is called now
        found = gate(result, path, system=system, old_system=_only_system(path), **options)
        if found.verdict == "worse" or (found.verdict == "cannot tell" and reaction == "fail"):
            pytest.fail(f"trueval gate {name}: {found.verdict}\n\n{found}", pytrace=False)
        if found.verdict == "cannot tell" and reaction == "xfail":
            pytest.xfail(f"trueval gate {name}: {found.sentence}")
        if found.verdict == "cannot tell" and reaction == "warn":
            warnings.warn(GateWarning(f"trueval gate {name}: {found.sentence}"), stacklevel=2)
        return found


@pytest.fixture
def trueval_gate(request: pytest.FixtureRequest) -> GateFixture:
    """Compare results with stored baselines: `trueval_gate(result, "name", metrics="ndcg@10", margin="1%")`."""
    config = request.config
    folder = config.getoption("--trueval-baselines") or config.getini("trueval_baselines") or FOLDER
    unsure = config.getoption("--trueval-unsure") or config.getini("trueval_unsure") or UNSURE[0]
    return GateFixture(config.rootpath / folder, update=config.getoption("--trueval-update"), unsure=_checked(unsure))


def _checked(unsure: str) -> str:
    if unsure not in UNSURE:
        raise pytest.UsageError(f"trueval_unsure must be one of {', '.join(UNSURE)}, not {unsure!r}")
    return unsure


def _only_system(path: Path) -> str | None:
    from trueval.report.compare_results import parts_of

    (evaluation,) = parts_of(path).values()
    return next(iter(evaluation.systems)) if len(evaluation.systems) == 1 else None
