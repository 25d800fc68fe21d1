"""Numbers, shares, intervals and p-values as people read them."""

from __future__ import annotations

import math

UNDEFINED = "undefined"
_LOPSIDED = 0.1  # of the width: a thousand resamples of a symmetric interval stay well below


def number(value: float, *, sign: bool = False) -> str:
    """Four digits after the point, more for tiny numbers, fewer for large ones.

    >>> number(0.0201), number(0.000021), number(-0.02, sign=True), number(1234.5)
    ('0.0201', '2.1e-05', '−0.0200', '1,234.5')
    """
    if math.isnan(value):
        return UNDEFINED
    size = abs(value)
    text = (
        "∞"
        if math.isinf(value)
        else f"{size:,.1f}"
        if size >= 1000
        else f"{size:.4f}"
        if size >= 0.0005 or size == 0
        else f"{size:.2g}"
    )
    return ("−" if value < 0 else "+" if sign and value > 0 else "") + text


def decimal(value: float, *, undefined: str = UNDEFINED) -> str:
    """Four digits after the point, also of tiny numbers, so that a column of values is easily read down.

    >>> decimal(0.0201), decimal(0.000021), decimal(1234.5), decimal(math.nan)
    ('0.0201', '0.0000', '1,234.5', 'undefined')
    """
    if math.isnan(value):
        return undefined
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:,.1f}"


def short(value: float) -> str:
    """Four digits that count, and no zero before the point.

    >>> short(0.0201), short(1.0), short(12.345)
    ('.0201', '1.000', '12.35')
    """
    digits = 4 if abs(value) < 1 else max(0, 3 - int(math.log10(abs(value))))
    return without_zero(f"{value:.{digits}f}")


def without_zero(text: str) -> str:
    """A number without the zero before its point.

    >>> without_zero("0.25"), without_zero("-0.25"), without_zero("10.25")
    ('.25', '-.25', '10.25')
    """
    return text.replace("0.", ".", 1) if text.lstrip("-")[:2] == "0." else text


def rounded(value: float, digits: int = 2) -> str:
    """A number with a true minus sign, and none before zero.

    >>> rounded(-0.331), rounded(-0.001)
    ('−0.33', '0.00')
    """
    zero = f"{0:.{digits}f}"
    return f"{value:.{digits}f}".replace(f"-{zero}", zero).replace("-", "−")


def percent(share: float, digits: int = 1, *, sign: bool = False) -> str:
    """A share as percent.

    >>> percent(-0.0431), percent(0.05, sign=True)
    ('-4.3 %', '+5.0 %')
    """
    return f"{100 * share:{'+' if sign else ''}.{digits}f} %"


def short_percent(share: float) -> str:
    """A share as people say it; the space does not break.

    >>> [short_percent(share).replace("\\xa0", " ") for share in (0.0534, 0.0041, 0.9996, 1)]
    ['5 %', '0.4 %', '99.96 %', '100 %']
    """
    for digits in (0, 1, 2):
        text = f"{100 * share:.{digits}f}"
        if float(text) not in (0, 100) or share in (0, 1):
            break
    return f"{text}\xa0%"


def level_percent(level: float) -> str:
    """The level of an interval.

    >>> level_percent(0.95), level_percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * level:g} %"


def p_value(p: float, *, least: float = 0.0001, undefined: str = UNDEFINED) -> str:
    """A p-value: two digits that count; below `least`, only that it is.

    >>> p_value(0.0312), p_value(1e-9), p_value(0.0004, least=0.001), p_value(math.nan)
    ('0.031', '< 0.0001', '< 0.001', 'undefined')
    """
    return undefined if math.isnan(p) else f"< {least:g}" if p < least else f"{p:.2g}"


def p_phrase(p: float, *, least: float = 0.0001) -> str:
    """The same in a sentence.

    >>> p_phrase(0.0312), p_phrase(1e-9), p_phrase(1.0), p_phrase(math.nan)
    ('p = 0.031', 'p < 0.0001', 'p = 1', 'p undefined')
    """
    text = p_value(p, least=least)
    return f"p = {text}" if text[0].isdigit() else f"p {text}"


def digits_for(half_width: float) -> int:
    """Decimals that show two digits of half an interval, three if it begins with 1 or 2; six at most.

    >>> digits_for(0.0051), digits_for(0.4), digits_for(0.017), digits_for(120.0)
    (4, 2, 4, 0)
    """
    if not half_width > 0 or not math.isfinite(half_width):
        return 4
    return min(6, max(0, 1 - math.floor(math.log10(half_width / 3) + 1e-9)))


def interval(low: float, high: float, digits: int = 4, *, sign: bool = False) -> str:
    """Both ends in brackets; nothing where one of them is not known.

    >>> interval(0.0026, 0.0079), interval(-1, 2, 0, sign=True), interval(math.nan, math.nan)
    ('[0.0026, 0.0079]', '[-1, +2]', '')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    plus = "+" if sign else ""
    return f"[{low:{plus}.{digits}f}, {high:{plus}.{digits}f}]"


def with_interval(value: float, low: float, high: float, digits: int = 4, *, sign: bool = False) -> str:
    """A value and its interval.

    >>> with_interval(0.0052, 0.0026, 0.0079), with_interval(0.5, math.nan, math.nan, 2, sign=True)
    ('0.0052 [0.0026, 0.0079]', '+0.50')
    >>> with_interval(math.nan, 0, 0)
    'undefined'
    """
    if math.isnan(value):
        return UNDEFINED
    return f"{value:{'+' if sign else ''}.{digits}f} {interval(low, high, digits, sign=sign)}".rstrip()


def lopsided(value: float, low: float, high: float) -> bool:
    """Whether ± would mislead: an interval reaches further to one side than to the other.

    >>> lopsided(0.5, 0.41, 0.6), lopsided(0.0, 0.0, 0.17), lopsided(0.5, math.nan, math.nan)
    (False, True, False)
    """
    return abs(high + low - 2 * value) > _LOPSIDED * (high - low)
