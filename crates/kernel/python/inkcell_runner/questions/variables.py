"""Lists the user's names: the type, the size and a preview of each value.

Owns the choice of names that belong to the user, the kinds of values, and the details of one value.
"""

import array
import collections
import datetime
import decimal
import enum
import fractions
import types
from itertools import islice

from .looks import attributes, base_of, class_dict, full_name, is_a, is_library, mro, of_loaded
from .paths import resolve
from .preview import ONE_LINE, cut, is_function, named_fields, one_line
from .quiet import Clock, LookupFailed, ask

_MAX_NAMES = 200
_MAX_ITEMS = 50
_MAX_TEXT = 2000
# The time limit for all previews of one answer together.
_SECONDS = 2.0
# Names of the session that do not begin with an underscore.
_GIVEN = ("In", "Out", "get_ipython", "exit", "quit")
_SCALARS = (
    bool, int, float, complex, type(None), decimal.Decimal, fractions.Fraction, datetime.date, datetime.time,
    datetime.timedelta, enum.Enum,
)
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_SEQUENCES = (list, tuple, set, frozenset, range, collections.deque, *_VIEWS)
# Values that the user made come before names that were only imported.
_LAST = {"function": 1, "class": 2, "module": 3}


def answer_variables(session, question):
    """Lists all names, data first, each with type, kind, shape or length, size in bytes and preview. Also returns how
    many names there are, and whether there was time to examine each."""
    names = [(name, value, kind_of(value)) for name, value in own_names(session)]
    names.sort(key=lambda row: (_LAST.get(row[2], 0), row[0]))
    limit = question.get("limit")
    limit = limit if isinstance(limit, int) and 0 < limit <= _MAX_NAMES else _MAX_NAMES
    clock = Clock(_SECONDS)
    rows, complete = [], True
    for name, value, kind in names[:limit]:
        row = {"name": cut(name, 200), "type": full_name(type(value)), "kind": kind}
        if clock.is_over:
            complete = False
            row.update(shape=None, length=None, bytes=None, preview=None)
        else:
            row.update(measures(value), preview=one_line(value))
        rows.append(row)
    return {"variables": rows, "total": len(names), "complete": complete}


def own_names(session):
    """Yields name and value of the user's variables, without those of the session and its helpers."""
    hidden = session.hidden if session.hosted is None else session.hosted.shell.user_ns_hidden
    nothing = object()
    for name, value in list(session.namespace.items()):
        if not isinstance(name, str) or name.startswith("_") or name in _GIVEN:
            continue
        if hidden.get(name, nothing) is not value:
            yield name, value


def kind_of(value):
    """The kind of a value, in one word."""
    if is_a(value, types.ModuleType):
        return "module"
    if is_a(value, type):
        return "class"
    if is_function(value):
        return "function"
    if is_a(value, *_SCALARS, *of_loaded("numpy", "generic")):
        return "scalar"
    if is_a(value, str, bytes, bytearray):
        return "text"
    if is_a(value, *_SEQUENCES):
        return "sequence"
    if is_a(value, dict, types.MappingProxyType, collections.ChainMap):
        return "mapping"
    if is_table(value):
        return "table"
    if is_a(value, array.array, memoryview, *of_loaded("numpy", "ndarray")) or _has_shape(value):
        return "array"
    return "other"


def is_table(value):
    """Whether a value is a table of pandas, polars or pyarrow."""
    return is_a(
        value,
        *of_loaded("pandas", "DataFrame", "Series"),
        *of_loaded("polars", "DataFrame", "Series"),
        *of_loaded("pyarrow", "Table", "RecordBatch"),
    )


def _has_shape(value):
    """Whether a value is an array of another library, such as a tensor."""
    kind = type(value)
    names = {name for one in mro(kind) for name in class_dict(one)}
    return is_library(kind) and {"shape", "dtype", "__getitem__"} <= names


def measures(value):
    """Shape or length, and the size in bytes."""
    found = {"shape": None, "length": None}
    base = base_of(type(value))
    if is_library(type(value)) and kind_of(value) in ("table", "array"):
        return dict(found, shape=_shape(value), bytes=_bytes(value))
    if is_a(value, str, bytes, bytearray, dict, *_SEQUENCES):
        found["length"] = base.__len__(value)
    return dict(found, bytes=_own_size(value))


def _shape(value):
    try:
        shape = ask(lambda: [int(side) for side in value.shape])
    except LookupFailed:
        return None
    return shape[:16]


def _bytes(value):
    def look():
        if is_a(value, *of_loaded("pandas", "DataFrame", "Series")):
            used = value.memory_usage(deep=False)
            return int(used if is_a(value, *of_loaded("pandas", "Series")) else used.sum())
        if hasattr(value, "estimated_size"):
            return int(value.estimated_size())
        return int(value.nbytes)

    try:
        return ask(look)
    except LookupFailed:
        return None


def _own_size(value):
    """The bytes of the object itself, without the objects it refers to. None if unknown."""
    try:
        return int(ask(base_of(type(value)).__sizeof__, value))
    except (LookupFailed, TypeError, ValueError):
        return None


# Details of one value.


def answer_variable(session, question):
    """Describes one value like the list does, with a longer preview and the type of its elements. Adds the name for
    its parts (`inside`: keys, items, attributes, columns), the first of them, and their number."""
    path = question.get("name")
    value = resolve(session, path)
    found = {"name": path.strip(), "type": full_name(type(value)), "kind": kind_of(value)}
    found.update(measures(value), preview=longer(value), dtype=None)
    if is_library(type(value)) and found["kind"] in ("array", "table"):
        try:
            found["dtype"] = cut(ask(lambda: str(value.dtype)), 200)
        except LookupFailed:
            pass
    what, rows, total = inside(value)
    found.update(inside=what, items=rows, total=total)
    return found


def longer(value):
    """A preview of some lines."""
    if is_a(value, str):
        return cut(str.__getitem__(value, slice(_MAX_TEXT + 1)), _MAX_TEXT)
    kind = kind_of(value)
    numpy = of_loaded("numpy", "ndarray")
    try:
        if is_a(value, *numpy) and is_library(type(value)) and not value.dtype.hasobject:
            return cut(ask(lambda: _array_text(value)), _MAX_TEXT)
        if kind in ("other", "array") and is_library(type(value)) and named_fields(value) is None:
            return cut(ask(repr, value), _MAX_TEXT)
    except LookupFailed:
        pass
    return one_line(value, _MAX_TEXT)


def _array_text(value):
    import numpy

    # The user's print options may show every element.
    return numpy.array2string(value, threshold=200, edgeitems=3, max_line_width=100)


def inside(value):
    """The parts of a value: the name for them, the first of them, and their number."""
    if is_a(value, dict):
        rows = [_row(one_line(key, 80), held) for key, held in islice(dict.items(value), _MAX_ITEMS)]
        return "keys", rows, dict.__len__(value)
    if is_a(value, types.ModuleType):
        held = types.ModuleType.__getattribute__(value, "__dict__")
        return _attributes({name: one for name, one in held.items() if name[:1] != "_"})
    if is_a(value, type):
        return _attributes({name: one for name, one in class_dict(value).items() if name[:1] != "_"})
    if is_table(value) and is_library(type(value)):
        return _columns(value)
    if is_a(value, list, tuple) and named_fields(value) is None:
        base = list if is_a(value, list) else tuple
        items = enumerate(islice(base.__iter__(value), _MAX_ITEMS))
        return "items", [_row(str(number), held) for number, held in items], base.__len__(value)
    fields = named_fields(value)
    if fields is not None:
        return _attributes(dict(fields))
    held = attributes(value)
    if is_library(type(value)):
        held = {name: one for name, one in held.items() if name[:1] != "_"}
    return _attributes(held)


def _attributes(held):
    rows = [_row(name, one) for name, one in islice(held.items(), _MAX_ITEMS)]
    return ("attributes" if rows else None), rows, len(held)


def _row(name, value):
    return {"name": cut(name, 200), "type": full_name(type(value)), "preview": one_line(value, ONE_LINE)}


def _columns(value):
    from .table import columns_of

    names = columns_of(value)
    rows = [{"name": name, "type": kind, "preview": None} for name, kind in islice(names, _MAX_ITEMS)]
    return "columns", rows, len(names)
