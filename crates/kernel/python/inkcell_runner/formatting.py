"""What a value looks like: its MIME bundle, and the functions that display it.

Owns the choice of kinds (`_repr_*_` methods, registered formatters, plain
text) and IPython's display functions.  It must not know how a display reaches
the host: that is the session's, found through `inkcell_runner.current()`.

A value comes from the user and may do anything.  Whatever its methods raise
or return, a display ends in a bundle that can be sent; only SystemExit and
KeyboardInterrupt pass through.
"""

import sys

import inkcell_runner
from . import pretty as _pretty

# Widget views name a model that lives on a comm channel, which this kernel
# does not have; without it a front end can only complain, so text is shown.
_NEEDS_COMM = ("application/vnd.jupyter.widget-view+json",)

_MISSING = object()


class FormatterWarning(UserWarning):
    """A representation that cannot be used."""


def _warn(message):
    import warnings

    warnings.warn(message, FormatterWarning, stacklevel=3)


def _report():
    """Prints the exception being handled to standard error, from the user's code on."""
    import traceback

    kind, value, trace = sys.exc_info()
    inner = trace
    while inner is not None and inner.tb_frame.f_globals.get("__package__") == __package__:
        inner = inner.tb_next
    try:
        traceback.print_exception(kind, value, inner or trace)
    except Exception:
        # Standard error may be replaced by something that cannot be written.
        pass


def _guarded(function, *args, **kwargs):
    """The value of a call, or None when it raised; NotImplementedError is silent."""
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
    """A method that `obj` really has, or None.

    Some objects have every attribute one asks for; they give themselves away
    by having one that nobody would define.  A class has the functions of its
    instances, which cannot be called on it; only class methods count.
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
        """Is here to take the type of a bound method from."""


class Formatter:
    """Makes one kind of representation; users register functions for types."""

    def __init__(self, kind, method, accepts):
        self.format_type = kind
        self.print_method = method
        self.accepts = accepts
        self.enabled = True
        self.singleton_printers, self.type_printers, self.deferred_printers = {}, {}, {}

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
        _warn(
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
        """Registers a function for a type (or 'module.Name'); gives the one before."""
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
        """Takes the function registered for exactly this type back out."""
        key = tuple(typ.rsplit(".", 1)) if isinstance(typ, str) else (typ.__module__, typ.__name__)
        found = self.deferred_printers.pop(key, None)
        for cls in list(self.type_printers):
            if cls is typ or (isinstance(typ, str) and (cls.__module__, cls.__name__) == key):
                found = self.type_printers.pop(cls)
        if found is None and default is _MISSING:
            raise KeyError("No registered value for %r" % (typ,))
        return default if found is None else found


class PlainFormatter(Formatter):
    """text/plain: always there, whatever the value does."""

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
        """How floats are shown: digits after the point, a format, or '' for repr."""
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
    """All formatters together; what `get_ipython().display_formatter` is."""

    def __init__(self):
        self.ipython_display_formatter = Formatter("", "_ipython_display_", (object,))
        self.mimebundle_formatter = Formatter("mimebundle", "_repr_mimebundle_", (dict,))
        binary = (bytes, str)
        self.formatters = {"text/plain": PlainFormatter()}
        # In IPython's order, which is the order of kinds in a bundle.
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
        """As IPython's: empty when the object displayed itself."""
        if own_display(obj):
            return {}, {}
        return bundle(obj, include, exclude)


def _figure_png(figure):
    from . import figures

    return figures.png(figure)


display_formatter = DisplayFormatter()


def has_own_display(obj):
    """Whether `obj` displays itself (`_ipython_display_`) and needs no bundle."""
    own = display_formatter.ipython_display_formatter
    return own._registered(obj) is not None or _method(obj, own.print_method) is not None


def own_display(obj):
    """Lets `obj` display itself; False when it cannot, or failed and said so."""
    if not has_own_display(obj):
        return False
    own = display_formatter.ipython_display_formatter

    def show():
        own._produce(obj, {})
        return True

    return bool(_guarded(show))


def bundle(obj, include=None, exclude=None):
    """The kinds of `obj` and their metadata, as IPython's formatter gives them."""
    def wanted(kind):
        return not (include and kind not in include) and not (exclude and kind in exclude)

    given = display_formatter.mimebundle_formatter(obj, include=include, exclude=exclude)
    data, metadata = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
    data = {kind: value for kind, value in clean(data).items() if wanted(kind)}
    metadata = {kind: value for kind, value in clean_metadata(metadata).items() if wanted(kind)}
    for kind, formatter in display_formatter.formatters.items():
        if not wanted(kind):
            continue
        # What the bundle holds stays, unless a function was registered.
        if kind in data and formatter._registered(obj) is None:
            continue
        value, extra = formatter(obj), None
        if isinstance(value, tuple) and len(value) == 2:
            value, extra = value
        if value is not None:
            data.update(clean({kind: value}))
        if extra is not None:
            metadata.update(clean_metadata({kind: extra}))
    return data, metadata


def is_binary(kind):
    """Whether values of this kind are bytes, which notebooks keep as base64."""
    if kind.endswith(("+xml", "+json")):
        return False
    return kind.startswith(("image/", "audio/", "video/")) or kind in ("application/pdf", "application/octet-stream")


def clean(data):
    """The part of a bundle that can be sent: text as str, binary kinds as bytes, the rest JSON."""
    if not isinstance(data, dict):
        return {}
    result = {}
    for kind, value in list(data.items()):
        if not isinstance(kind, str) or kind in _NEEDS_COMM or value is None:
            continue
        value = _sendable(kind, value)
        if value is None:
            _warn("%s was given a value that cannot be shown: it is left out" % kind)
        else:
            result[str(kind)] = value
    return result


def clean_metadata(metadata):
    if not metadata or not isinstance(metadata, dict):
        return {}
    metadata = _jsonable(metadata)
    return metadata if isinstance(metadata, dict) else {}


def _sendable(kind, value):
    """`value` in the form its kind is sent in, or None."""
    if isinstance(value, str):
        if is_binary(kind):
            return _unbase64(value)
        return str(value) if type(value) is not str else value
    if isinstance(value, (bytes, bytearray, memoryview)):
        value = bytes(value)
        return value if is_binary(kind) else value.decode("utf-8", "replace")
    if kind.startswith("text/"):
        # Notebook files keep text as a list of lines, and some code gives it so.
        if isinstance(value, (list, tuple)) and all(isinstance(line, str) for line in value):
            return "".join(value)
        return None
    return None if is_binary(kind) else _jsonable(value)


def _unbase64(text):
    """The bytes that `text` stands for; text that is no base64 stays as it is."""
    import binascii

    try:
        packed = "".join(text.split()).encode("ascii")
        data = binascii.a2b_base64(packed)
        # The decoder skips what it does not know, so only the way back proves it.
        return data if binascii.b2a_base64(data, newline=False) == packed else text
    except ValueError:
        return text


def _jsonable(value):
    """`value` if JSON can hold it, else the nearest that it can, else None."""
    import json

    try:
        json.dumps(value, allow_nan=False)
        return value
    except Exception:
        # Circular, not a number, a key that is no string, an unknown type.
        pass
    try:
        return _to_json(value)
    except Exception:
        return None


def _to_json(value):
    """The rules of Jupyter's messages for what JSON does not know."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _to_json(item) for key, item in value.items()}
    if isinstance(value, bytes):
        import binascii

        return binascii.b2a_base64(value, newline=False).decode("ascii")
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "__index__"):
        return value.__index__()
    if hasattr(value, "__float__"):
        number = float(value)
        return number if number - number == 0 else repr(number)
    return [_to_json(item) for item in value]


# The functions users call.


def _new_id():
    import os

    return os.urandom(16).hex()


def _merge(into, other):
    """Like `update`, but dicts within dicts are merged too."""
    if not isinstance(into, dict) or not isinstance(other, dict):
        return other
    for key, value in other.items():
        into[key] = _merge(into.get(key), value)
    return into


def display(*objs, include=None, exclude=None, metadata=None, transient=None, display_id=None,
            raw=False, clear=False, **kwargs):
    """Shows values; with `display_id` gives a handle to change what was shown."""
    transient = dict(transient or {})
    if display_id:
        if display_id is True:
            display_id = _new_id()
        transient["display_id"] = display_id
    update = bool(kwargs.get("update"))
    if update and "display_id" not in transient:
        raise TypeError("display_id required for update_display")
    if not objs and display_id:
        # An empty place, to be filled later.
        objs, raw = [{}], True
    if clear:
        clear_output(wait=True)
    for obj in objs:
        if raw:
            display_pub.publish(obj, metadata, transient=transient, update=update)
            continue
        data, extra = display_formatter.format(obj, include, exclude)
        if data:
            _merge(extra, metadata or {})
            display_pub.publish(data, extra, transient=transient, update=update)
    return DisplayHandle(display_id) if display_id else None


def update_display(obj, *, display_id, **kwargs):
    """Changes what was shown under this id."""
    kwargs["update"] = True
    display(obj, display_id=display_id, **kwargs)


def clear_output(wait=False):
    """Removes what the cell has shown so far, now or when something new comes."""
    inkcell_runner.current().clear_output(bool(wait))


class DisplayHandle:
    """Changes a display after it was shown."""

    def __init__(self, display_id=None):
        self.display_id = _new_id() if display_id is None else display_id

    def __repr__(self):
        return "<%s display_id=%s>" % (self.__class__.__name__, self.display_id)

    def display(self, obj, **kwargs):
        display(obj, display_id=self.display_id, **kwargs)

    def update(self, obj, **kwargs):
        update_display(obj, display_id=self.display_id, **kwargs)


class DisplayPublisher:
    """What `get_ipython().display_pub` is: bundles that are ready go out here."""

    is_publishing = False

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **kwargs):
        if not isinstance(data, dict):
            raise TypeError("data must be a dict, got: %r" % (data,))
        if metadata is not None and not isinstance(metadata, dict):
            raise TypeError("metadata must be a dict, got: %r" % (metadata,))
        display_id = (transient or {}).get("display_id")
        if display_id is not None:
            display_id = str(display_id)
        inkcell_runner.current().display(clean(data), clean_metadata(metadata), display_id=display_id, update=bool(update))

    def clear_output(self, wait=False):
        clear_output(wait)


display_pub = DisplayPublisher()


# The real IPython, when it is there.


class _NoEvents:
    def register(self, event, function):
        """Takes hooks for events that this kernel does not have."""

    unregister = trigger = register


class _ShellView:
    """The session's shell, completed by what IPython's display code asks a shell for."""

    def __getattr__(self, name):
        try:
            return getattr(inkcell_runner.current().shell, name)
        except AttributeError:
            if name in _SHELL_PARTS:
                return _SHELL_PARTS[name]
            raise


_SHELL_PARTS = {
    "display_pub": display_pub,
    "display_formatter": display_formatter,
    "events": _NoEvents(),
    "configurables": [],
}
_view = _ShellView()


def hosted_shell():
    """What `get_ipython()` of the real IPython gives: the session's own shell where it is enough."""
    shell = getattr(inkcell_runner.current(), "shell", None)
    return shell if all(hasattr(shell, name) for name in _SHELL_PARTS) else _view


def hook_real_ipython():
    """Makes an imported IPython show through this session; safe to call at any time, again too.

    IPython asks one class whether a shell exists and for that shell.  Answering there reaches
    `display`, `clear_output`, handles and `get_ipython()`, also where they were imported before.
    """
    module = sys.modules.get("IPython.core.interactiveshell")
    shell_class = getattr(module, "InteractiveShell", None)
    if shell_class is None or "_inkcell" in shell_class.__dict__ or hasattr(sys.modules.get("IPython"), "__inkcell__"):
        return
    initialized, instance = shell_class.initialized.__func__, shell_class.instance.__func__

    def is_ours(cls):
        # A shell that somebody really made is the shell.  Without a session, in a process that only
        # loads modules for others, there is none.
        return cls is shell_class and not initialized(cls) and _has_session()

    def shell():
        found = hosted_shell()
        if not isinstance(found, module.InteractiveShellABC):
            module.InteractiveShellABC.register(type(found))
        return found

    shell_class._inkcell = True
    shell_class.initialized = classmethod(lambda cls: is_ours(cls) or initialized(cls))
    shell_class.instance = classmethod(
        lambda cls, *args, **kwargs: shell() if is_ours(cls) else instance(cls, *args, **kwargs)
    )


def _has_session():
    try:
        return inkcell_runner.current() is not None
    except RuntimeError:
        return False
