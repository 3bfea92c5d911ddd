"""Describes a table in figures: rows, columns with type, nulls and range, the first rows.

Owns which values count as a table, the limits on work, and the shape of the answer. `frames` reads the tables of
libraries; this module reads a list of records and a dict of columns.
"""

from itertools import islice

from . import QuestionError, columns
from .frames import reader
from .looks import full_name, is_a
from .paths import resolve
from .preview import cut, one_line
from .quiet import Clock, LookupFailed

_MAX_COLUMNS = 100
_HEAD = 5
# A table with more cells than its reader allows is described by a sample of its rows. The sample has this many cells.
_SAMPLE_CELLS = 1_000_000
# Examining Python's own values takes longer.
_MAX_RECORD_CELLS = 200_000
_SECONDS = 3.0


def answer_table(session, question):
    """Returns the figures of one table. Values are texts. `lengths` are the shortest and the longest text of a column.
    `distinct` is None if counting would take long."""
    path = question.get("name")
    table = _open(resolve(session, path), path)
    clock = Clock(_SECONDS)
    rows, names = table.rows, table.columns()
    step = _step(rows, min(len(names), _MAX_COLUMNS), table.max_cells)
    described, complete = [], True
    for at, (name, dtype) in enumerate(names[:_MAX_COLUMNS]):
        found = columns.empty(name, dtype)
        if clock.is_over:
            complete = False
        else:
            try:
                found.update(table.describe(at, step))
            except LookupFailed:
                # The other columns can still be described.
                complete = False
            found.update(name=name, dtype=dtype if dtype is not None else found["dtype"])
        described.append(found)
    index, head = table.head(_HEAD, min(len(names), _MAX_COLUMNS))
    return {
        "name": path.strip(),
        "type": table.type,
        "rows": rows,
        "width": len(names),
        "columns": described,
        "index": index,
        "head": head,
        "bytes": table.bytes(),
        # The number of rows behind the figures, if that is not all rows.
        "sampled": None if step == 1 else len(range(0, rows, step)),
        # Whether there was time, and a way, to describe every column.
        "complete": complete,
    }


def columns_of(value):
    """Name and type of each column of a library's table."""
    try:
        return [(name, dtype or "") for name, dtype in reader(value).columns()]
    except LookupFailed:
        return []


def _step(rows, width, max_cells):
    cells = rows * max(1, width)
    if cells <= max_cells:
        return 1
    return -(-cells // min(_SAMPLE_CELLS, max_cells))


def _open(value, path):
    """Returns the reader of a table. Raises `QuestionError` if the value is not a table."""
    try:
        found = reader(value)
    except LookupFailed as problem:
        raise QuestionError("%s cannot be read as a table: %s." % (path, problem)) from None
    if found is not None:
        return found
    if is_a(value, list, tuple) and _are_records(value):
        return _Records(value)
    if is_a(value, dict) and _are_columns(value):
        return _Columns(value)
    raise QuestionError(
        "%s is no table: its type is %s. Ask for it as a variable; tables are data frames and series, arrays of one or"
        " two dimensions, lists of dicts and dicts of lists." % (path, full_name(type(value)))
    )


def _are_records(value):
    base = list if is_a(value, list) else tuple
    first = list(islice(base.__iter__(value), 20))
    return bool(first) and all(is_a(row, dict) for row in first)


def _are_columns(value):
    held = list(islice(dict.values(value), 1000))
    lengths = {len(one) for one in held if type(one) in (list, tuple)}
    return bool(held) and all(type(one) in (list, tuple) for one in held) and len(lengths) == 1


class _Records:
    """A list of dicts."""

    max_cells = _MAX_RECORD_CELLS

    def __init__(self, value):
        base = list if is_a(value, list) else tuple
        self.type = "%s of dict" % full_name(type(value))
        self.rows = base.__len__(value)
        self._at = lambda step: islice(base.__iter__(value), 0, None, step)
        self._value = value
        keys = {}
        for row in islice(base.__iter__(value), 1000):
            if is_a(row, dict):
                keys.update(dict.fromkeys(key for key in islice(dict.keys(row), 1000) if _is_key(key)))
        self._keys = list(keys)

    def columns(self):
        return [(_label(key), None) for key in self._keys]

    def describe(self, at, step):
        key = self._keys[at]
        return columns.describe("", [self._cell(row, key) for row in self._at(step)])

    def _cell(self, row, key):
        return dict.get(row, key) if is_a(row, dict) else None

    def head(self, rows, width):
        first = list(islice(self._at(1), rows))
        return None, [[columns.cell(self._cell(row, key)) for key in self._keys[:width]] for row in first]

    def bytes(self):
        return None


class _Columns:
    """A dict of lists of equal length."""

    max_cells = _MAX_RECORD_CELLS

    def __init__(self, value):
        self.type = "%s of list" % full_name(type(value))
        self._columns = [(key, held) for key, held in dict.items(value)]
        self.rows = len(self._columns[0][1])

    def columns(self):
        return [(_label(key), None) for key, _ in self._columns]

    def describe(self, at, step):
        return columns.describe("", islice(self._columns[at][1], 0, None, step))

    def head(self, rows, width):
        shown = min(rows, self.rows)
        return None, [[columns.cell(held[row]) for _, held in self._columns[:width]] for row in range(shown)]

    def bytes(self):
        return None


def _is_key(key):
    return type(key) in (str, int, float, bool, bytes, type(None))


def _label(key):
    return cut(key, 200) if type(key) is str else one_line(key, 80)
