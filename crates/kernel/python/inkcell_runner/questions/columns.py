"""Describes one column of values in plain Python: types, nulls, range, lengths, distinct values.

Owns those figures. Only values of built-in types are compared or hashed; others are counted by their type.
"""

import datetime
import decimal

from .looks import is_a, is_library, name_of
from .preview import cut, one_line
from .quiet import LookupFailed, ask

MAX_CELL = 60
# With more values than this, the distinct ones are not counted.
MAX_DISTINCT = 100_000
_NUMBERS = (bool, int, float)
_ORDERED = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)


def cell(value):
    """Shows a value as a cell of a table. Text has no quotes, because the column's type says that it is text."""
    if type(value) is str:
        return cut(value[: MAX_CELL + 1].replace("\n", "\\n"), MAX_CELL)
    if is_a(value, *_ORDERED) and is_library(type(value)):
        try:
            return cut(ask(str, value), MAX_CELL)
        except LookupFailed:
            pass
    return one_line(value, MAX_CELL)


def empty(name, dtype):
    """A column whose figures are all unknown."""
    return {"name": name, "dtype": dtype, "nulls": None, "min": None, "max": None, "lengths": None, "distinct": None}


def is_null(value):
    """True for None, for NaN, and for the null types of pandas."""
    if value is None:
        return True
    if type(value) is float:
        return value != value
    return type(value).__name__ in ("NAType", "NaTType")


def describe(name, values):
    """Returns the figures of a list of values."""
    nulls, kinds, kept = 0, {}, []
    for value in values:
        if is_null(value):
            nulls += 1
        else:
            kinds[type(value)] = None
            kept.append(value)
    found = empty(name, " | ".join(map(name_of, list(kinds)[:4])) or "null")
    found["nulls"] = nulls
    if not kept:
        found["distinct"] = 0
        return found
    if all(kind in _NUMBERS for kind in kinds) or (len(kinds) == 1 and next(iter(kinds)) in _ORDERED):
        try:
            found["min"], found["max"] = cell(min(kept)), cell(max(kept))
        except TypeError:
            # Times with a time zone and times without one have no order.
            pass
    elif set(kinds) == {str}:
        found["lengths"] = [min(map(len, kept)), max(map(len, kept))]
    if len(kept) <= MAX_DISTINCT and all(kind in (*_NUMBERS, str, bytes, *_ORDERED) for kind in kinds):
        found["distinct"] = len(set(kept))
    return found
