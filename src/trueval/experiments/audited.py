"""The audit of an experiment: of one design, over all folds and seeds, with the parts that were evaluated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trueval.audit.audit import Audit
from trueval.errors import TruevalError
from trueval.experiments.accepted_findings import accepted_findings
from trueval.progress import note
from trueval.splits.parts import OBSERVED

if TYPE_CHECKING:
    from trueval.experiments.result import ExperimentResult


def audit_experiment(result: ExperimentResult, design: str) -> Audit:
    """The audit of a design; without the parts where the data cannot be read again."""
    own = replace(result[design], observed=result.results.get(f"{design}-{OBSERVED}"))
    accept = accepted_findings(result.experiment.written)
    try:
        return own.audit(_parts(result), accept=accept)
    except TruevalError as problem:
        note(f"the audit is without the parts of the data: {problem.what}")
        return own.audit(accept=accept)


def _parts(result: ExperimentResult) -> Any:
    """The parts of every repeat, in their order; one where there is one."""
    experiment = result.experiment
    log, splitting = experiment.splitting.with_log(experiment.source)
    seeds = splitting.repeats(log, columns=experiment.source.columns)
    found = [one.parts for several in seeds for one in several]
    return found if len(found) > 1 else found[0]
