"""The plain text of a value, laid out the way IPython lays it out.

Owns the printer that ``_repr_pretty_`` methods receive and the table of printers for the built-in containers;
the layout owns where lines break.  It must not know about kinds of rich output, about sessions, or about the
target of its text.
"""

import io
import os
import sys

from .layout import MAX_SEQ_LENGTH, WIDTH, Layout

# Names of the builtins module; the printer omits them from class names.
_BUILTIN_MODULES = ("__builtin__", "builtins", "exceptions")


def pretty(obj, width=WIDTH, max_seq_length=MAX_SEQ_LENGTH):
    """The text of `obj` in lines of at most `width` where it can break."""
    out = io.StringIO()
    printer = Printer(out, max_width=width, max_seq_length=max_seq_length)
    printer.pretty(obj)
    printer.flush()
    return out.getvalue()


class Printer(Layout):
    """Prints Python values; `_repr_pretty_` methods receive it as `p`."""

    def __init__(self, output, verbose=False, max_width=WIDTH, newline="\n",
                 singleton_pprinters=None, type_pprinters=None,
                 deferred_pprinters=None, max_seq_length=MAX_SEQ_LENGTH):
        Layout.__init__(self, output, max_width, newline, max_seq_length)
        self.verbose = verbose
        # The values that are being printed now, outermost first, by identity.
        self.stack = []
        self.singleton_pprinters = (
            singleton_printers if singleton_pprinters is None else singleton_pprinters
        )
        self.type_pprinters = type_printers if type_pprinters is None else type_pprinters
        self.deferred_pprinters = (
            deferred_printers if deferred_pprinters is None else deferred_pprinters
        )

    def pretty(self, obj):
        """Prints `obj` with the nearest printer among its classes."""
        key = id(obj)
        cycle = key in self.stack
        self.stack.append(key)
        self.begin_group()
        try:
            printer = self.singleton_pprinters.get(key)
            if printer is None:
                printer = self._printer_of(_class_of(obj))
            return printer(obj, self, cycle)
        finally:
            self.end_group()
            self.stack.pop()

    def _printer_of(self, cls):
        for base in mro_of(cls):
            printer = find_printer(base, self.type_pprinters, self.deferred_pprinters)
            if printer is not None:
                return printer
            own = base.__dict__
            if "_repr_pretty_" in own:
                method = base._repr_pretty_
                if callable(method):
                    return method
            if (
                base is not object
                and "__repr__" in own
                and callable(_attribute(base, "__repr__"))
            ):
                return print_repr
        return _print_default


def find_printer(cls, by_type, by_name):
    """The printer registered for exactly `cls`, or None.

    Printers registered by name move to the table of types when their type first appears, so registering a
    printer never imports a module.
    """
    printer = by_type.get(cls)
    if printer is None and by_name:
        name = (_attribute(cls, "__module__"), _attribute(cls, "__name__"))
        try:
            printer = by_name.pop(name) if name in by_name else None
        except TypeError:  # A class may set its name to anything, even to a list.
            return None
        if printer is not None:
            by_type[cls] = printer
    return printer


def mro_of(cls):
    return getattr(cls, "__mro__", None) or type.mro(type(cls))


def _attribute(obj, name, default=None):
    """`getattr` that also survives attributes that raise."""
    try:
        return getattr(obj, name, default)
    except Exception:
        return default


def _class_of(obj):
    return _attribute(obj, "__class__") or type(obj)


class Verbatim:
    """Prints its text unchanged in the place of a value."""

    def __init__(self, value):
        self.value = value

    def _repr_pretty_(self, p, cycle):
        p.text(self.value)


class Call:
    """Prints ``name(a, b, key=c)``, with breaks between the arguments."""

    def __init__(self, name, args=(), keywords=None):
        self.name = name
        self.args = args
        self.keywords = keywords or {}

    def _repr_pretty_(self, p, cycle):
        head = self.name + "("
        p.begin_group(len(head), head)
        first = True
        for value in self.args:
            if not first:
                p.text(",")
                p.breakable()
            first = False
            p.pretty(value)
        for key, value in self.keywords.items():
            if not first:
                p.text(",")
                p.breakable()
            first = False
            label = key + "="
            with p.group(len(label), label):
                p.pretty(value)
        p.end_group(len(head), ")")


def print_repr(obj, p, cycle):
    """Prints `repr`, keeps its lines and indents them as deep as the value."""
    lines = repr(obj).splitlines()
    p.begin_group()
    try:
        for index, line in enumerate(lines):
            if index:
                p.break_()
            p.text(line)
    finally:
        p.end_group()


def _print_default(obj, p, cycle):
    cls = _class_of(obj)
    if _attribute(cls, "__repr__") is not object.__repr__:
        print_repr(obj, p, cycle)
        return
    p.begin_group(1, "<")
    p.pretty(cls)
    p.text(" at 0x%x" % id(obj))
    if cycle:
        p.text(" ...")
    p.end_group(1, ">")


def _items(p, values):
    for index, value in p._enumerate(values):
        if index:
            p.text(",")
            p.breakable()
        p.pretty(value)


def _sequence(start, end):
    def show(obj, p, cycle):
        if cycle:
            return p.text(start + "..." + end)
        p.begin_group(len(start), start)
        _items(p, obj)
        if len(obj) == 1 and isinstance(obj, tuple):
            p.text(",")
        p.end_group(len(start), end)

    return show


def _set(start, end):
    def show(obj, p, cycle):
        if cycle:
            return p.text(start + "..." + end)
        if not len(obj):
            return p.text(type(obj).__name__ + "()")
        p.begin_group(len(start), start)
        # Sorting a huge set only to cut it would waste time.
        whole = not p.max_seq_length or len(obj) < p.max_seq_length
        _items(p, _sorted(obj) if whole else obj)
        p.end_group(len(start), end)

    return show


def _sorted(values):
    values = list(values)
    try:
        return sorted(values)
    except Exception:
        try:
            return sorted(values, key=str)
        except Exception:
            return values


def _mapping(start, end):
    def show(obj, p, cycle):
        if cycle:
            return p.text("{...}")
        p.begin_group(len(start), start)
        for index, key in p._enumerate(obj.keys()):
            if index:
                p.text(",")
                p.breakable()
            p.pretty(key)
            p.text(": ")
            p.pretty(obj[key])
        p.end_group(len(start), end)

    return show


def _print_super(obj, p, cycle):
    p.begin_group(8, "<super: ")
    p.pretty(obj.__thisclass__)
    p.text(",")
    p.breakable()
    p.pretty(obj.__self__)
    p.end_group(8, ">")


def _print_class(obj, p, cycle):
    # A `__repr__` of the metaclass takes precedence.
    for meta in mro_of(type(obj)):
        if "__repr__" in vars(meta):
            if meta is not type:
                return print_repr(obj, p, cycle)
            break
    name = _attribute(obj, "__qualname__")
    if not isinstance(name, str):
        name = obj.__name__
        if not isinstance(name, str):
            name = "<unknown type>"
    module = _attribute(obj, "__module__")
    if module is None or module in _BUILTIN_MODULES:
        p.text(name)
    else:
        p.text(module + "." + name)


def _print_function(obj, p, cycle):
    import inspect

    name = _attribute(obj, "__qualname__", obj.__name__)
    module = obj.__module__
    if module and module not in _BUILTIN_MODULES:
        name = module + "." + name
    options = {}
    if sys.version_info >= (3, 14):
        # Annotations may name something that does not exist yet; show them all the same.
        import annotationlib

        options["annotation_format"] = annotationlib.Format.FORWARDREF
    try:
        name += str(inspect.signature(obj, **options))
    except (ValueError, TypeError):
        pass
    p.text("<function %s>" % name)


def _print_exception(obj, p, cycle):
    cls = obj.__class__
    name = getattr(cls, "__qualname__", cls.__name__)
    if cls.__module__ not in ("exceptions", "builtins"):
        name = "%s.%s" % (cls.__module__, name)
    p.pretty(Call(name, getattr(obj, "args", ())))


def _print_pattern(obj, p, cycle):
    raw = Verbatim("r" + repr(obj.pattern).replace("\\\\", "\\"))
    args = [raw]
    if obj.flags:
        import re

        names = ("IGNORECASE", "LOCALE", "MULTILINE", "DOTALL", "UNICODE", "VERBOSE", "DEBUG")
        named = ["re." + name for name in names if obj.flags & getattr(re, name)]
        args.append(Verbatim("|".join(named)))
    p.pretty(Call("re.compile", args))


def _print_namespace(obj, p, cycle):
    if cycle:
        p.pretty(Call("namespace", [Verbatim("...")]))
    else:
        p.pretty(Call("namespace", (), obj.__dict__))


def _constructed(arguments):
    """A printer that shows a value as the call that would make it."""

    def show(obj, p, cycle):
        if cycle:
            args, keywords = [Verbatim("...")], None
        else:
            args, keywords = arguments(obj)
        p.pretty(Call(obj.__class__.__name__, args, keywords))

    return show


def _deque_arguments(obj):
    return [list(obj)], None if obj.maxlen is None else {"maxlen": obj.maxlen}


class _Bound:
    def method(self):
        """Exists only as the source of the type of bound methods."""


class Table(dict):
    """Registered functions.  A caller that has searched all such tables can skip the next search while all of
    them are unchanged."""

    changes = 0


def _counted(name):
    change = getattr(dict, name)

    def changed(self, *args, **kwargs):
        Table.changes += 1
        return change(self, *args, **kwargs)

    return changed


for _name in ("__setitem__", "__delitem__", "__ior__", "pop", "popitem", "clear", "update", "setdefault"):
    setattr(Table, _name, _counted(_name))

#: Printers by type.  `for_type` of the text/plain formatter changes this table too.
type_printers = Table({
    int: print_repr,
    float: print_repr,
    str: print_repr,
    bytes: print_repr,
    range: print_repr,
    slice: print_repr,
    tuple: _sequence("(", ")"),
    list: _sequence("[", "]"),
    dict: _mapping("{", "}"),
    set: _set("{", "}"),
    frozenset: _set("frozenset({", "})"),
    super: _print_super,
    type: _print_class,
    BaseException: _print_exception,
    type(pretty): _print_function,
    type(len): _print_function,
    type(_Bound().method): print_repr,
    type(sys.implementation): _print_namespace,
    type(type.__dict__): _mapping("mappingproxy({", "})"),
    type(os.environ): _mapping("environ{", "}"),
})

#: Printers by (module, name), for types of modules that may not be imported.
deferred_printers = Table({
    ("re", "Pattern"): _print_pattern,
    ("datetime", "datetime"): print_repr,
    ("datetime", "timedelta"): print_repr,
    ("collections", "defaultdict"): _constructed(
        lambda obj: ([obj.default_factory, dict(obj)], None)
    ),
    ("collections", "OrderedDict"): _constructed(
        lambda obj: ([list(obj.items())] if len(obj) else [], None)
    ),
    ("collections", "Counter"): _constructed(
        lambda obj: ([dict(obj.most_common())] if len(obj) else [], None)
    ),
    ("collections", "deque"): _constructed(_deque_arguments),
    ("collections", "UserList"): _constructed(lambda obj: ([obj.data], None)),
})

#: Printers by identity: values that must not reach the printer for `int`.
singleton_printers = Table(
    (id(value), print_repr) for value in (None, True, False, Ellipsis, NotImplemented)
)
