"""Axioms of unified metrics as a checker: statements, random worlds, counter-examples."""

from trueval.metrics.axioms.check import AxiomReport, AxiomTable, Verdict, check_axioms

__all__ = ["AxiomReport", "AxiomTable", "Verdict", "check_axioms"]
