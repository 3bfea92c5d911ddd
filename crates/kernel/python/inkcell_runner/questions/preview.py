"""Shows a value in a few words, without running code of the user's classes.

Owns the text of previews and their limits. This module walks containers itself and stops early. It asks objects of
libraries for their own text. It shows objects of the user's classes by their fields.
"""
import array
import collections
import enum
import functools
import types
from itertools import islice

from .looks import (
    MISSING, attributes, base_of, class_dict, is_a, is_library, module_of, mro, name_of, of_class, of_loaded,
)
from .quiet import LookupFailed, ask

ONE_LINE = 120
_DEPTH = 3
_DIGITS = 1000
_PLAIN = (bool, float, complex, type(None), type(Ellipsis), type(NotImplemented), range, slice)
_BRACKETS = {list: "[]", tuple: "()", set: "{}", frozenset: ("frozenset({", "})"), collections.deque: ("deque([", "])")}
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_FUNCTIONS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType,
    types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType, functools.partial,
)


def cut(text, limit):
    """Cuts a text to at most `limit` characters, with an ellipsis for the rest."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def one_line(value, limit=ONE_LINE):
    """Shows a value on one line."""
    try:
        text = _text(value, limit, _DEPTH)
    except LookupFailed as problem:
        text = "<%s: %s>" % (name_of(type(value)), problem)
    except RecursionError:
        text = "<%s: too deep>" % name_of(type(value))
    except Exception as problem:
        # Another thread may change the value meanwhile.
        text = "<%s: %s>" % (name_of(type(value)), type(problem).__name__)
    return cut(" ".join(text[: limit * 4].split("\n")), limit)


def is_function(value):
    """True for functions of Python and C, and for a library's callables that bind or have a name like functions."""
    kind = type(value)
    if is_a(value, *_FUNCTIONS):
        return True
    if not is_library(kind) or of_class(kind, "__call__") is MISSING or is_a(value, type):
        return False
    return any(name in class_dict(one) for one in mro(kind)[:-1] for name in ("__get__", "__name__"))


def _text(value, limit, depth):
    kind = type(value)
    if kind in _PLAIN:
        return repr(value)
    if kind is str or kind is bytes or kind is bytearray:
        return repr(value[:limit])
    if kind is int:
        return _whole(value)
    if is_a(value, type):
        return "<class %s>" % name_of(value)
    if is_a(value, types.ModuleType):
        return "<module %s>" % types.ModuleType.__getattribute__(value, "__dict__").get("__name__")
    if is_function(value):
        return _function(value)
    if is_a(value, enum.Enum):
        return "%s.%s" % (name_of(kind), attributes(value).get("_name_"))
    fields = named_fields(value)
    if fields is not None:
        return _fields(name_of(kind), fields, limit, depth)
    if is_a(value, *_BRACKETS):
        return _sequence(value, limit, depth)
    if is_a(value, dict, types.MappingProxyType):
        return _mapping(value, limit, depth)
    if is_a(value, BaseException):
        arguments = BaseException.args.__get__(value)
        return name_of(kind) + _joined(map(_deeper(limit, depth), arguments), "()", limit)
    if not is_library(kind):
        return _of_user(value, limit)
    return _of_library(value, limit, depth)


def _whole(value):
    # A number of many digits takes long to write out.
    bits = int.bit_length(value)
    return int.__repr__(value) if bits < _DIGITS * 3 else "<int of about %d digits>" % (bits * 3 // 10)


def _function(value):
    if is_a(value, functools.partial):
        return "<partial of %s>" % one_line(value.func, 60).strip("<>")
    name = ask(getattr, value, "__name__")
    return "<%s %s>" % ("method" if is_a(value, types.MethodType) else "function", name)


# Containers.


def _deeper(limit, depth):
    return lambda value: _text(value, limit, depth - 1)


def _joined(parts, brackets, limit):
    """Joins parts between brackets until the limit is reached. Reads `parts` no further than that."""
    text = brackets[0]
    for number, part in enumerate(parts):
        text += (", " if number else "") + part
        if len(text) > limit:
            return cut(text, limit)
    return text + brackets[1]


def _sequence(value, limit, depth):
    base = next(kind for kind in _BRACKETS if is_a(value, kind))
    size = base.__len__(value)
    brackets = _BRACKETS[base]
    own = type(value) is not base
    if not size:
        text = "set()" if base is set else brackets[0] + brackets[1]
    elif depth == 0:
        text = brackets[0] + "…" + brackets[1]
    else:
        text = _joined(map(_deeper(limit, depth), base.__iter__(value)), brackets, limit)
        if base is tuple and size == 1 and text.endswith(")"):
            text = text[:-1] + ",)"
    return "%s(%s)" % (name_of(type(value)), text) if own else text


def _mapping(value, limit, depth):
    if is_a(value, dict):
        size, items = dict.__len__(value), dict.items(value)
    else:
        # A proxy may contain any object.
        return "<mappingproxy>"
    if depth == 0 and size:
        text = "{…}"
    else:
        shown = _deeper(limit, depth)
        text = _joined(("%s: %s" % (shown(key), shown(held)) for key, held in items), "{}", limit)
    return text if type(value) is dict else "%s(%s)" % (name_of(type(value)), text)


# Values with fields.


def named_fields(value):
    """The fields of a dataclass, a named tuple or a plain namespace as (name, value); else None."""
    kind = type(value)
    if is_a(value, types.SimpleNamespace):
        return list(attributes(value).items())
    if is_a(value, tuple):
        names = of_class(kind, "_fields")
        if type(names) is tuple and len(names) == tuple.__len__(value) and all(type(name) is str for name in names):
            return list(zip(names, tuple.__iter__(value)))
        return None
    described = next((names for names in map(_described, mro(kind)) if names is not None), None)
    if described is None:
        return None
    held = attributes(value)
    return [(name, held[name]) for name, field in described.items() if name in held and field.repr is True]


def _described(kind):
    names = class_dict(kind).get("__dataclass_fields__")
    # A field that its class leaves out of its repr, such as a password, is left out here too.
    return names if type(names) is dict and module_of(kind) != "dataclasses" else None


def _fields(name, fields, limit, depth):
    if depth == 0:
        return name + "(…)"
    shown = _deeper(limit, depth)
    return name + _joined(("%s=%s" % (field, shown(held)) for field, held in fields), "()", limit)


def _of_user(value, limit):
    name = name_of(type(value))
    base = base_of(type(value))
    if base in (str, bytes):
        return "%s(%r)" % (name, base.__getitem__(value, slice(limit)))
    if base in (int, float, complex):
        return "%s(%s)" % (name, _whole(value) if base is int else base.__repr__(value))
    held = attributes(value)
    return "<%s object%s>" % (name, _joined(iter(held), (": ", ""), limit) if held else "")


# Objects of libraries.


def _of_library(value, limit, depth):
    if is_a(value, *of_loaded("numpy", "ndarray")):
        return _array(value, limit, depth)
    if is_a(value, *of_loaded("pandas", "DataFrame"), *of_loaded("polars", "DataFrame")):
        return _frame(value.shape, value.columns, limit)
    if is_a(value, *of_loaded("pyarrow", "Table", "RecordBatch")):
        return _frame(value.shape, value.schema.names, limit)
    if is_a(value, *of_loaded("numpy", "generic")):
        return ask(str, value)
    if is_a(value, *of_loaded("pandas", "Series", "Index")):
        first = ask(lambda: getattr(value, "iloc", value)[:20].tolist())
        return _joined(map(_deeper(limit, depth), first), "[]" if len(value) <= 20 else ("[", ", …]"), limit)
    if is_a(value, *of_loaded("polars", "Series")):
        first = ask(lambda: value.head(20).to_list())
        return _joined(map(_deeper(limit, depth), first), "[]" if len(value) <= 20 else ("[", ", …]"), limit)
    if is_a(value, *_VIEWS):
        return name_of(type(value)) + _joined(map(_deeper(limit, depth), value), ("([", "])"), limit)
    if is_a(value, array.array, memoryview, bytearray):
        return repr(value) if is_a(value, memoryview) else "%s of %d" % (name_of(type(value)), len(value))
    if is_a(value, *of_loaded("pathlib", "PurePath")):
        return ask(str, value)
    return ask(repr, value)


def _frame(shape, names, limit):
    """Describes a table by its size and its columns; its own text is a drawing of many lines."""
    names = _joined(map(_label, islice(names, 50)), (": ", ""), limit) if shape[1] else ""
    return "%d rows × %d columns%s" % (*shape, names)


def _label(name):
    return name if type(name) is str else one_line(name, 40)


def _array(value, limit, depth):
    """Shows the first elements. NumPy's own text depends on print options, and prints objects."""
    if value.ndim == 0:
        return _text(value.item(), limit, depth)
    first = value.reshape(-1)[:50] if value.flags.c_contiguous else value[tuple([0] * (value.ndim - 1))][:50]
    if type(first) is not type(value) and not is_a(first, type(value)):
        return "array"
    parts = map(_deeper(limit, depth), first.tolist() if value.dtype.names is None else map(tuple, first.tolist()))
    return _joined(parts, "[]" if first.size == value.size else ("[", ", …]"), limit)
