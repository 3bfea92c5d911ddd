"""Reads the tables of libraries: pandas, NumPy, polars, pyarrow.

Owns the choice of their methods to call. It imports none of these libraries: a library's table exists only if the
library is loaded. Every call goes through `ask`, because a column may hold objects of the user.
"""

from . import columns
from .looks import full_name, is_a, is_library, of_loaded
from .preview import cut, one_line
from .quiet import LookupFailed, ask

# Distinct values of a whole column are counted up to this many rows.
_MAX_DISTINCT = 1_000_000
# Python values in a column of objects are examined one by one, so their number is limited.
_MAX_OBJECTS = 100_000
_SECONDS = 2.0


def reader(value):
    """Returns the reader of this table, or None if the value is not a library's table."""
    if not is_library(type(value)):
        return None
    for read, kinds in (
        (_Pandas, of_loaded("pandas", "DataFrame", "Series")),
        (_Numpy, of_loaded("numpy", "ndarray")),
        (_Polars, of_loaded("polars", "DataFrame", "Series")),
        (_Arrow, of_loaded("pyarrow", "Table", "RecordBatch")),
    ):
        if is_a(value, *kinds):
            return read(value)
    return None


def _label(name):
    if type(name) is tuple:
        # A heading of several levels.
        return cut(" / ".join(map(_label, name)), 200)
    return cut(name, 200) if type(name) is str else one_line(name, 80)


def _range(low, high):
    return {"min": columns.cell(low), "max": columns.cell(high)}


class _Table:
    """The common part of the readers."""

    # A larger table is described by a sample of its rows.
    max_cells = 10_000_000

    def __init__(self, value):
        self.type = full_name(type(value))
        self._value = value

    def columns(self):
        return ask(self._columns, seconds=_SECONDS)

    def describe(self, at, step):
        return ask(self._describe, at, step, seconds=_SECONDS)

    def head(self, rows, width):
        try:
            index, found = ask(self._head, rows, width, seconds=_SECONDS)
        except LookupFailed:
            return None, []
        # Cells may be objects of any class. Showing them runs none of their code.
        return index, [[columns.cell(one) for one in row] for row in found]

    def bytes(self):
        try:
            return ask(self._bytes)
        except LookupFailed:
            return None


class _Pandas(_Table):
    def __init__(self, value):
        super().__init__(value)
        self.rows = len(value)
        self._is_frame = is_a(value, *of_loaded("pandas", "DataFrame"))

    def _columns(self):
        if not self._is_frame:
            return [(_label(self._value.name if self._value.name is not None else "values"), str(self._value.dtype))]
        return [(_label(name), str(dtype)) for name, dtype in zip(self._value.columns, self._value.dtypes)]

    def _column(self, at):
        return self._value.iloc[:, at] if self._is_frame else self._value

    def _describe(self, at, step):
        column = self._column(at)
        if step > 1:
            column = column.iloc[::step]
        kind = getattr(column.dtype, "kind", "O")
        if kind == "O":
            return self._of_objects(column)
        found = {"nulls": int(column.isna().sum())}
        present = column.dropna() if found["nulls"] else column
        if len(present) and kind in "iufbMm":
            found.update(_range(present.min(), present.max()))
        if len(column) <= _MAX_DISTINCT:
            found["distinct"] = int(present.nunique())
        return found

    def _of_objects(self, column):
        """Describes objects, texts and categories: pandas gives them all the same kind."""
        if hasattr(column, "cat"):
            return {"nulls": int(column.isna().sum()), "distinct": int(column.nunique())}
        found = columns.describe("", column.iloc[:_MAX_OBJECTS].tolist())
        found["nulls"] = int(column.isna().sum())
        if len(column) > _MAX_OBJECTS:
            found["distinct"] = None
        return found

    def _head(self, rows, width):
        first = self._value.iloc[:rows]
        labels = [_label(label) for label in first.index.tolist()]
        names = [_label(name) for name in self._value.index.names if name is not None]
        index = {"name": " / ".join(names) or None, "dtype": str(self._value.index.dtype), "head": labels}
        if not self._is_frame:
            return index, [[one] for one in first.tolist()]
        held = [first.iloc[:, at].tolist() for at in range(width)]
        return index, [list(row) for row in zip(*held)]

    def _bytes(self):
        used = self._value.memory_usage(deep=False)
        return int(used.sum() if self._is_frame else used)


class _Numpy(_Table):
    def __init__(self, value):
        super().__init__(value)
        if value.ndim not in (1, 2):
            raise LookupFailed("it has %d dimensions, and a table has one or two; name a part of it" % value.ndim)
        self.rows = value.shape[0]
        self._fields = value.dtype.names if value.ndim == 1 else None

    def _columns(self):
        dtype = self._value.dtype
        if self._fields is not None:
            return [(_label(name), str(dtype[name])) for name in self._fields]
        if self._value.ndim == 1:
            return [("values", str(dtype))]
        return [(str(at), str(dtype)) for at in range(self._value.shape[1])]

    def _column(self, at):
        if self._fields is not None:
            return self._value[self._fields[at]]
        return self._value if self._value.ndim == 1 else self._value[:, at]

    def _describe(self, at, step):
        import numpy

        column = self._column(at)[::step]
        if column.ndim > 1:
            return {}
        kind = column.dtype.kind
        if kind in "OUS":
            found = columns.describe("", column[:_MAX_OBJECTS].tolist())
            if len(column) > _MAX_OBJECTS:
                found["distinct"] = None
            return found
        if kind not in "iufbcMm":
            return {}
        is_null = numpy.isnat(column) if kind in "Mm" else numpy.isnan(column)
        nulls = int(numpy.count_nonzero(is_null))
        found = {"nulls": nulls}
        present = column[~is_null] if nulls else column
        if present.size and kind != "c":
            found.update(_range(present.min(), present.max()))
        if column.size <= _MAX_DISTINCT:
            found["distinct"] = int(numpy.unique(present).size)
        return found

    def _head(self, rows, width):
        first = self._value[:rows]
        if self._fields is not None:
            return None, [list(row)[:width] for row in first.tolist()]
        if self._value.ndim == 1:
            return None, [[one] for one in first.tolist()]
        return None, first[:, :width].tolist()

    def _bytes(self):
        return int(self._value.nbytes)


class _Polars(_Table):
    def __init__(self, value):
        super().__init__(value)
        self.rows = len(value)
        self._is_frame = is_a(value, *of_loaded("polars", "DataFrame"))

    def _columns(self):
        if not self._is_frame:
            return [(_label(self._value.name or "values"), str(self._value.dtype))]
        return [(_label(name), str(dtype)) for name, dtype in zip(self._value.columns, self._value.dtypes)]

    def _describe(self, at, step):
        column = self._value.to_series(at) if self._is_frame else self._value
        if step > 1:
            column = column.gather_every(step)
        found = {"nulls": int(column.null_count())}
        kind = str(column.dtype)
        if kind in ("String", "Utf8"):
            lengths = column.str.len_chars()
            if lengths.max() is not None:
                found["lengths"] = [int(lengths.min()), int(lengths.max())]
        elif not kind.startswith(("Object", "List", "Struct", "Array", "Categorical", "Enum")):
            if column.max() is not None:
                found.update(_range(column.min(), column.max()))
        if len(column) <= _MAX_DISTINCT and not kind.startswith(("Object", "List", "Struct", "Array")):
            # Polars counts null as a value of its own.
            found["distinct"] = int(column.n_unique()) - bool(found["nulls"])
        return found

    def _head(self, rows, width):
        first = self._value.head(rows)
        if not self._is_frame:
            return None, [[one] for one in first.to_list()]
        return None, [list(row)[:width] for row in first.rows()]

    def _bytes(self):
        return int(self._value.estimated_size())


class _Arrow(_Table):
    def __init__(self, value):
        super().__init__(value)
        self.rows = value.num_rows

    def _columns(self):
        return [(_label(field.name), str(field.type)) for field in self._value.schema]

    def _describe(self, at, step):
        import sys

        column = self._value.column(at)
        if step > 1:
            # Take a run of rows from the beginning: picking single rows would copy them.
            column = column.slice(0, len(range(0, len(column), step)))
        found = {"nulls": int(column.null_count)}
        compute = sys.modules.get("pyarrow.compute")
        kind = str(column.type)
        if compute is None or kind.startswith(("list", "struct", "map", "large_list", "dictionary", "union", "null")):
            return found
        if kind in ("string", "large_string", "string_view"):
            both = compute.min_max(compute.utf8_length(column)).as_py()
            if both["min"] is not None:
                found["lengths"] = [both["min"], both["max"]]
        else:
            both = compute.min_max(column).as_py()
            if both["min"] is not None:
                found.update(_range(both["min"], both["max"]))
        if len(column) <= _MAX_DISTINCT:
            found["distinct"] = int(compute.count_distinct(column).as_py())
        return found

    def _head(self, rows, width):
        first = self._value.slice(0, rows)
        held = [first.column(at).to_pylist() for at in range(width)]
        return None, [list(row) for row in zip(*held)]

    def _bytes(self):
        return int(self._value.nbytes)
