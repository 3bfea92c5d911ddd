"""What can be said of one column of values in plain Python: types, nulls, range, lengths, distinct values.

Owns those figures. Only values of built-in types are compared or hashed; others are counted by their type.
"""

import datetime
import decimal

from .looks import is_a, is_library, name_of
from .preview import cut, one_line
from .quiet import LookupFailed, ask

MAX_CELL = 60
# More values than this are not kept to count the distinct ones.
MAX_DISTINCT = 100_000
_NUMBERS = (bool, int, float)
_ORDERED = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)


def cell(value):
    """A value as a cell of a table; text without quotes, since what is a text is said by the type."""
    if type(value) is str:
        return cut(value[: MAX_CELL + 1].replace("\n", "\\n"), MAX_CELL)
    if is_a(value, *_ORDERED) and is_library(type(value)):
        try:
            return cut(ask(str, value), MAX_CELL)
        except LookupFailed:
            pass
    return one_line(value, MAX_CELL)


def empty(name, dtype):
    """A column of which no more is known."""
    return {"name": name, "dtype": dtype, "nulls": None, "min": None, "max": None, "lengths": None, "distinct": None}


def is_null(value):
    """None, and what is not equal to itself among the numbers of Python."""
    if value is None:
        return True
    if type(value) is float:
        return value != value
    return type(value).__name__ in ("NAType", "NaTType")


def describe(name, values):
    """The figures of a list of values."""
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
            # Times with a zone and times without have no order.
            pass
    elif set(kinds) == {str}:
        found["lengths"] = [min(map(len, kept)), max(map(len, kept))]
    if len(kept) <= MAX_DISTINCT and all(kind in (*_NUMBERS, str, bytes, *_ORDERED) for kind in kinds):
        found["distinct"] = len(set(kept))
    return found
