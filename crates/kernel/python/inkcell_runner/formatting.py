"""Turns a value into its MIME bundle.

Owns the choice of MIME types: `_repr_*_` methods, registered formatters, plain text. It must not know sessions, nor
how a bundle is used.

A value comes from the user, so its methods may do anything.  Whatever they raise or return, a display ends in a bundle
that can be sent. Only SystemExit and KeyboardInterrupt pass through.
"""

import sys

from . import pretty as _pretty
from .pretty import Table

_MISSING = object()


def _report():
    """Prints the current exception to standard error, beginning at the user's code."""
    import traceback

    kind, value, trace = sys.exc_info()
    inner = trace
    while inner is not None and inner.tb_frame.f_globals.get("__package__") == __package__:
        inner = inner.tb_next
    try:
        traceback.print_exception(kind, value, inner or trace)
    except Exception:
        # The object that replaced standard error may not be writable.
        pass


def _guarded(function, *args, **kwargs):
    """Returns the value of a call, or None if it raised. NotImplementedError is not reported."""
    try:
        return function(*args, **kwargs)
    except NotImplementedError:
        return None
    except Exception:
        _report()
        return None


def _type_name(obj):
    try:
        return str(type(obj).__name__)
    except Exception:
        return "object"


def _method(obj, name):
    """Returns a method that `obj` really has, or None.

    Some objects answer to every attribute name. They give themselves away by having one that no class defines.  A
    class has the functions of its instances, which cannot be called on the class; only class methods count.
    """
    try:
        if getattr(obj, "_ipython_canary_method_should_not_exist_", None) is not None:
            return None
        method = getattr(obj, name, None)
    except Exception:
        return None
    if isinstance(obj, type) and not isinstance(method, type(_Probe().probe)):
        return None
    return method if callable(method) else None


class _Probe:
    def probe(self):
        """The source of the type of a bound method."""


class Formatter:
    """Makes one kind of representation. Users register functions for types."""

    def __init__(self, kind, method, accepts):
        self.format_type = kind
        self.print_method = method
        self.accepts = accepts
        self.enabled = True
        self.singleton_printers, self.type_printers, self.deferred_printers = Table(), Table(), Table()

    def __setattr__(self, name, value):
        # The assignment may replace a whole table.
        Table.changes += 1
        object.__setattr__(self, name, value)

    def __call__(self, obj, **options):
        value = _guarded(self._produce, obj, options) if self.enabled else None
        return self._checked(value, obj)

    def _produce(self, obj, options):
        printer = self._registered(obj)
        if printer is not None:
            return printer(obj)
        method = _method(obj, self.print_method)
        return None if method is None else method(**options)

    def _checked(self, value, obj):
        main = value[0] if isinstance(value, tuple) and value else value
        if value is None or isinstance(main, self.accepts):
            return value
        expected = self.accepts[0] if len(self.accepts) == 1 else self.accepts
        try:
            shown = repr(obj)
        except Exception as problem:
            shown = "un-repr-able object (%s)" % _type_name(problem)
        from .mime import warn

        warn(
            "%s formatter returned invalid type %s (expected %s) for object: %s"
            % (self.format_type, type(value), expected, shown)
        )
        return None

    def _registered(self, obj):
        printer = self.singleton_printers.get(id(obj))
        if printer is None and (self.type_printers or self.deferred_printers):
            try:
                cls = obj.__class__ or type(obj)
            except Exception:
                cls = type(obj)
            printer = self._of_type(cls)
        return printer

    def _of_type(self, cls):
        for base in _pretty.mro_of(cls):
            printer = _pretty.find_printer(base, self.type_printers, self.deferred_printers)
            if printer is not None:
                return printer
        return None

    def lookup(self, obj):
        printer = self._registered(obj)
        if printer is None:
            raise KeyError("No registered printer for %r" % type(obj))
        return printer

    def lookup_by_type(self, typ):
        printer = self._named(typ) if isinstance(typ, str) else self._of_type(typ)
        if printer is None:
            raise KeyError("No registered printer for %r" % (typ,))
        return printer

    def __contains__(self, typ):
        return (self._named(typ) if isinstance(typ, str) else self._of_type(typ)) is not None

    def _named(self, name):
        key = tuple(name.rsplit(".", 1))
        if key in self.deferred_printers:
            return self.deferred_printers[key]
        for cls, printer in self.type_printers.items():
            if (cls.__module__, cls.__name__) == key:
                return printer
        return None

    def for_type(self, typ, func=None):
        """Registers a function for a type (or 'module.Name'). Returns the function registered before."""
        if isinstance(typ, str):
            return self.for_type_by_name(*typ.rsplit(".", 1), func)
        before = self._of_type(typ)
        if func is not None:
            self.type_printers[typ] = func
        return before

    def for_type_by_name(self, type_module, type_name, func=None):
        before = self._named("%s.%s" % (type_module, type_name))
        if func is not None:
            self.deferred_printers[(type_module, type_name)] = func
        return before

    def pop(self, typ, default=_MISSING):
        """Removes the function registered for exactly this type, and returns it."""
        key = tuple(typ.rsplit(".", 1)) if isinstance(typ, str) else (typ.__module__, typ.__name__)
        found = self.deferred_printers.pop(key, None)
        for cls in list(self.type_printers):
            if cls is typ or (isinstance(typ, str) and (cls.__module__, cls.__name__) == key):
                found = self.type_printers.pop(cls)
        if found is None and default is _MISSING:
            raise KeyError("No registered value for %r" % (typ,))
        return default if found is None else found


class PlainFormatter(Formatter):
    """Makes text/plain, which every value has, whatever its methods do."""

    def __init__(self):
        Formatter.__init__(self, "text/plain", "_repr_pretty_", (str,))
        self.singleton_printers = _pretty.singleton_printers
        self.type_printers = _pretty.type_printers
        self.deferred_printers = _pretty.deferred_printers
        self.pprint = True
        self.max_width = _pretty.WIDTH
        self.max_seq_length = _pretty.MAX_SEQ_LENGTH
        self._float_precision = ""

    def __call__(self, obj):
        try:
            if not self.pprint:
                return repr(obj)
            return _pretty.pretty(obj, self.max_width, self.max_seq_length)
        except Exception as problem:
            if not isinstance(problem, NotImplementedError):
                _report()
            return "<unrepr %s>" % _type_name(obj)

    @property
    def float_precision(self):
        """The format of floats: digits after the point, a format, or '' for repr."""
        return self._float_precision

    @float_precision.setter
    def float_precision(self, new):
        new = str(new)
        if not new:
            form, digits = "%r", 8
        elif "%" in new:
            form, digits = new, None
        else:
            if not new.isdigit():
                raise ValueError("Precision must be int or format string, not %r" % new)
            form, digits = "%%.%df" % int(new), int(new)
        form % 3.14159
        self._float_precision = new
        self.type_printers[float] = lambda obj, p, cycle: p.text(form % obj)
        if digits is not None and "numpy" in sys.modules:
            sys.modules["numpy"].set_printoptions(precision=digits)


class DisplayFormatter:
    """All formatters together; the object behind `get_ipython().display_formatter`."""

    def __init__(self):
        self.ipython_display_formatter = Formatter("", "_ipython_display_", (object,))
        self.mimebundle_formatter = Formatter("mimebundle", "_repr_mimebundle_", (dict,))
        binary = (bytes, str)
        self.formatters = Table({"text/plain": PlainFormatter()})
        # IPython's order, which is the order of MIME types in a bundle.
        for kind, name, accepts in (
            ("text/html", "html", (str,)),
            ("text/markdown", "markdown", (str,)),
            ("image/svg+xml", "svg", (str,)),
            ("image/png", "png", binary),
            ("application/pdf", "pdf", binary),
            ("image/jpeg", "jpeg", binary),
            ("text/latex", "latex", (str,)),
            ("application/json", "json", (list, dict)),
            ("application/javascript", "javascript", (str,)),
        ):
            self.formatters[kind] = Formatter(kind, "_repr_%s_" % name, accepts)
        self.formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", _figure_png)

    @property
    def format_types(self):
        return list(self.formatters)

    @property
    def active_types(self):
        return [kind for kind, formatter in self.formatters.items() if formatter.enabled]

    @active_types.setter
    def active_types(self, kinds):
        for kind, formatter in self.formatters.items():
            # Plain text cannot be turned off.
            formatter.enabled = kind in kinds or kind == "text/plain"

    def format(self, obj, include=None, exclude=None):
        """Like IPython's method: returns nothing for an object that displayed itself."""
        if own_display(obj):
            return {}, {}
        return bundle(obj, include, exclude)


def _figure_png(figure):
    from . import figures

    return figures.draw(figure)


display_formatter = DisplayFormatter()


def has_own_display(obj):
    """Whether `obj` displays itself (`_ipython_display_`) and needs no bundle."""
    own = display_formatter.ipython_display_formatter
    return own._registered(obj) is not None or _method(obj, own.print_method) is not None


def own_display(obj):
    """Lets `obj` display itself. False if it cannot, or if it failed and reported that."""
    if not has_own_display(obj):
        return False
    own = display_formatter.ipython_display_formatter

    def show():
        own._produce(obj, {})
        return True

    return bool(_guarded(show))


# Values of exactly these types have one MIME type and no methods to call.
_SIMPLE = frozenset((bool, int, str, bytes, complex))


def _registrations():
    """All functions registered with any formatter."""
    others = (display_formatter.mimebundle_formatter, display_formatter.ipython_display_formatter)
    every = (*display_formatter.formatters.values(), *others)
    return [(each.type_printers, each.deferred_printers, each.singleton_printers) for each in every]


# The functions that are registered from the start.
_OWN_REGISTRATIONS = None
# The number of changes at the last comparison, and whether the tables were still the original ones.
_looked, _is_untouched = -1, False


def simple(obj):
    """Returns the text of `obj` as Python prints it, if that is its whole bundle: a simple type, and no function
    registered by the user. Else None."""
    global _looked, _is_untouched
    kind = type(obj)
    if kind not in _SIMPLE or (kind is str and "\n" in obj):
        return None
    if _looked != Table.changes:
        _looked, _is_untouched = Table.changes, _OWN_REGISTRATIONS == _registrations()
    return repr(obj) if _is_untouched else None


def bundle(obj, include=None, exclude=None):
    """Returns the MIME types of `obj` and their metadata, as IPython's formatter does."""
    text = simple(obj) if include is None and exclude is None else None
    if text is not None:
        return {"text/plain": text}, {}

    def wanted(kind):
        return not (include and kind not in include) and not (exclude and kind in exclude)

    given = display_formatter.mimebundle_formatter(obj, include=include, exclude=exclude)
    data, metadata = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
    data = {kind: value for kind, value in _clean(data).items() if wanted(kind)}
    metadata = {kind: value for kind, value in _clean_metadata(metadata).items() if wanted(kind)}
    for kind, formatter in display_formatter.formatters.items():
        if not wanted(kind):
            continue
        # The bundle's own data stays, unless the user registered a function.
        if kind in data and formatter._registered(obj) is None:
            continue
        value, extra = formatter(obj), None
        if isinstance(value, tuple) and len(value) == 2:
            value, extra = value
        if value is not None:
            data.update(_clean({kind: value}))
        if extra is not None:
            metadata.update(_clean_metadata({kind: extra}))
    return data, metadata


def _clean(data):
    """The part of `data` that can be sent.  Most values have only plain text, which needs no check of MIME types."""
    if data is None:
        return {}
    if type(data) is dict and len(data) == 1 and type(data.get("text/plain")) is str:
        return data
    from . import mime

    return mime.clean(data)


def _clean_metadata(metadata):
    if not metadata:
        return {}
    from . import mime

    return mime.clean_metadata(metadata)


def _remember_registrations():
    global _OWN_REGISTRATIONS
    _OWN_REGISTRATIONS = [tuple(map(dict, three)) for three in _registrations()]


_remember_registrations()
