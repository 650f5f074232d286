"""Checks of arguments: a value that would be ignored, cut or misread is an error that names it."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from . import errors

MOST = 2**63 - 1


def _expected(low, high):
    return f"{low} to {high}" if high not in (math.inf, MOST) else f"{low} or more" if low > -math.inf else "finite"


def real(what: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number within the bounds, as a float."""
    try:
        found = math.nan if isinstance(value, (str, bytes, bool)) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not (math.isfinite(found) and low <= found <= high):
        raise errors.InvalidError(f"{what} is {value!r}, expected a number, {_expected(low, high)}")
    return found


def whole(what: str, value: Any, low: int = 0, high: int = MOST) -> int:
    """A whole number within the bounds; a float is refused."""
    try:
        found = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        found = None
    if found is None or not low <= found <= high:
        raise errors.InvalidError(f"{what} is {value!r}, expected a whole number, {_expected(low, high)}")
    return found


def flag(what: str, value: Any) -> bool:
    """True or False; accepts 1 and 0."""
    if not isinstance(value, (bool, np.bool_, int)) or value not in (0, 1):
        raise errors.InvalidError(f"{what} is {value!r}, expected True or False")
    return bool(value)


def choice(what: str, value: Any, choices: tuple[Any, ...]) -> int:
    """The index of a value among the choices; 1 and 0 count as True and False."""
    for i, one in enumerate(choices):
        if type(value) in (bool, np.bool_, int, str) and value == one:
            return i
    raise errors.InvalidError(f"{what} is {value!r}, expected " + ", ".join(map(repr, choices)))


def is_masked(values: Any) -> bool:
    """Whether entries of an array of NumPy are masked; pandas, whose arrays have a mask too, gives them as pandas.NA."""
    return isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values)


def indices(what: str, values: Any) -> np.ndarray:
    """Whole numbers as an array of int64; bools (a mask) are refused."""
    array = np.asarray(values)
    if not array.size:
        return array.astype(np.int64)
    numbers = array.dtype.kind in "iu"
    if array.dtype == object:  # of a nullable column of pandas, or numbers beyond 2^63
        numbers = all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in array.flat)
    if is_masked(values) or not numbers:
        raise errors.InvalidError(f"{what} of {array.dtype} {list(array.shape)}, expected whole numbers without gaps")
    if array.dtype in (np.uint64, object) and not -MOST <= array.min() <= array.max() <= MOST:
        raise errors.InvalidError(f"{what}: {array.min()} to {array.max()}, expected whole numbers below 2^63")
    return array.astype(np.int64, copy=False)
