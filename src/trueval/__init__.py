"""trueval: measure recommender systems by what is true, not by what is popular."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from trueval import forks as forks  # looks at each fork from now on

__version__ = "0.1.0"

# Where each public name lives. Imported when first used, so that `import trueval` costs next to nothing.
_HOME = {
    "read": "trueval.data.read",
    "Interactions": "trueval.data.interactions",
    "split": "trueval.splits",
    "Parts": "trueval.splits.parts",
    "leakage": "trueval.splits.leakage",
    "Design": "trueval.design.design",
    "systems": "trueval.recommenders.registry",
    "make_system": "trueval.recommenders.registry",
    "tune": "trueval.evaluation.tuning",
    "adapt": "trueval.recommenders.adapters",
    "Factors": "trueval.recommenders.given",
    "Scores": "trueval.recommenders.given",
    "Function": "trueval.recommenders.given",
    "Run": "trueval.recommenders.run",
    "evaluate": "trueval.api",
    "evaluate_run": "trueval.api",
    "Result": "trueval.report.result",
    "run": "trueval.experiments.run",
    "compare": "trueval.report.compare_results",
    "agreement": "trueval.report.compare_results",
    "gate": "trueval.report.gate_results",
    "audit": "trueval.audit.audit",
    "item_pairs": "trueval.audit.item_pairs",
    "popularity_curve": "trueval.audit.popularity_curve",
    "sparsity": "trueval.audit.sparsity",
    "power": "trueval.statistics.power",
    "measure": "trueval.metrics.measure",
    "curve": "trueval.metrics.curve",
    "check_axioms": "trueval.metrics.axioms",
    "rating_error": "trueval.metrics.errors.rating_errors",
    "Propensity": "trueval.propensity.propensity",
    "pointwise": "trueval.calibration.pointwise",
    "calibrate": "trueval.calibration.calibrate",
    "fit_calibrator": "trueval.calibration.fit",
    "Calibrator": "trueval.calibration.calibrator",
    "ab_test": "trueval.online.ab.analysis",
    "ab_plan": "trueval.online.ab.plan",
    "ope": "trueval.online.ope.estimate",
    "study_analysis": "trueval.study.analysis",
    "study_answers": "trueval.study.simulated_answers",
    "study_plan": "trueval.online.user_study.plan",
    "simulate": "trueval.simulation.simulate",
    "World": "trueval.simulation.world",
    "ClickModel": "trueval.simulation.click_models",
    "feedback_loop": "trueval.simulation.feedback_loop",
    "track": "trueval.simulation.track",
    "Trajectory": "trueval.simulation.trajectory",
    "reproduce": "trueval.papers.reproduce",
    "Reproduction": "trueval.papers.reproduce",
    "load_facts": "trueval.facts.files",
    "save_facts": "trueval.facts.files",
    "Chart": "trueval.charts.chart",
    "TruevalError": "trueval.errors",
}

__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from trueval.api import Result, evaluate, evaluate_run
    from trueval.audit.audit import audit
    from trueval.audit.item_pairs import item_pairs
    from trueval.audit.popularity_curve import popularity_curve
    from trueval.audit.sparsity import sparsity
    from trueval.calibration.calibrate import calibrate
    from trueval.calibration.calibrator import Calibrator
    from trueval.calibration.fit import fit_calibrator
    from trueval.calibration.pointwise import pointwise
    from trueval.charts.chart import Chart
    from trueval.data.interactions import Interactions
    from trueval.data.read import read
    from trueval.design.design import Design
    from trueval.errors import TruevalError
    from trueval.evaluation.tuning import tune
    from trueval.experiments.run import run
    from trueval.facts.files import load_facts, save_facts
    from trueval.metrics.axioms import check_axioms
    from trueval.metrics.curve import curve
    from trueval.metrics.errors.rating_errors import rating_error
    from trueval.metrics.measure import measure
    from trueval.online.ab.analysis import ab_test
    from trueval.online.ab.plan import ab_plan
    from trueval.online.ope.estimate import ope
    from trueval.online.user_study.plan import study_plan
    from trueval.papers.reproduce import Reproduction, reproduce
    from trueval.propensity.propensity import Propensity
    from trueval.recommenders.adapters import adapt
    from trueval.recommenders.given import Factors, Function, Scores
    from trueval.recommenders.registry import make_system, systems
    from trueval.recommenders.run import Run
    from trueval.report.compare_results import agreement, compare
    from trueval.report.gate_results import gate
    from trueval.simulation.click_models import ClickModel
    from trueval.simulation.feedback_loop import feedback_loop
    from trueval.simulation.simulate import simulate
    from trueval.simulation.track import track
    from trueval.simulation.trajectory import Trajectory
    from trueval.simulation.world import World
    from trueval.splits import split
    from trueval.splits.leakage import leakage
    from trueval.splits.parts import Parts
    from trueval.statistics.power import power
    from trueval.study.analysis import study_analysis
    from trueval.study.simulated_answers import study_answers


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'trueval' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """A package in which a public name stays what it is when a folder of the same name (`audit`) is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name: cloudpickle (joblib, Spark, Dask, Ray) does that by itself only to the plain class."""
        return importlib.import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package
