"""The page of each kind of record that is compared, tested or estimated. Results have their own, see `html_result`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trueval.report.html_ab import ab_page
from trueval.report.html_audit import audit_page
from trueval.report.html_calibration import calibration_page, pointwise_page
from trueval.report.html_comparisons import agreement_page, comparisons_page
from trueval.report.html_ope import ope_page
from trueval.report.html_study import study_page
from trueval.report.origin import UNKNOWN, Origin

PAGES: dict[str, Callable[..., str]] = {
    "comparisons": comparisons_page,
    "agreement": agreement_page,
    "ab_test": ab_page,
    "study": study_page,
    "ope": ope_page,
    "calibration": calibration_page,
    "pointwise": pointwise_page,
    "audit": audit_page,
}


def page_of(kind: str, record: Any, *, title: str | None = None, origin: Origin = UNKNOWN) -> str:
    """The report on a record, with the title that pages of its kind have where none is given."""
    return PAGES[kind](record, origin=origin, **({} if title is None else {"title": title}))
