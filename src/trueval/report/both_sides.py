"""An unbiased test beside the test that was held out of the biased log."""

from __future__ import annotations

from collections.abc import Sequence

from trueval.comparison.design_agreement import LEAST, Alike, alike_notes
from trueval.errors import visible
from trueval.evaluation.outcome import Evaluation
from trueval.render.terminal import escape, new_table, printed
from trueval.report.sides import OBSERVED, UNBIASED
from trueval.report.table_cells import cell, needs_both_ends


def sides_text(true: Evaluation, observed: Evaluation, alike: Sequence[Alike]) -> str:
    """Every metric on the unbiased test beside the biased one, with τ between their rankings of the systems."""
    table = new_table(title="unbiased test and observed test (held out of the biased log)")
    for head in ("metric", "system", UNBIASED, OBSERVED):
        table.add_column(head, justify="left" if head in ("metric", "system") else "right")
    tau = {one.metric: one.summary for one in alike}
    for label, spec in true.specs.items():
        ends = needs_both_ends(s.systems[name].estimates[label] for s in (true, observed) for name in true.systems)
        for name, system in true.systems.items():
            values = [cell(side.estimates[label], ends=ends) for side in (system, observed.systems[name])]
            table.add_row(escape(label), escape(name), *map(escape, values))
        if str(spec) in tau:
            table.add_row(escape(label), "Kendall's τ", "", tau[str(spec)], style="bold")
    notes = alike_notes(list(alike)) or [f"the agreement of the two tests needs at least {LEAST} systems"]
    own = [warning for warning in observed.warnings if warning not in true.warnings]
    return printed(table) + visible("\n".join([*notes, *(f"! {OBSERVED}: {warning}" for warning in own)]) + "\n")
