"""Decorators that define magics; the session's shell keeps the magics."""

from .getipython import get_ipython

__all__ = [
    "Magics",
    "magics_class",
    "line_magic",
    "cell_magic",
    "line_cell_magic",
    "register_line_magic",
    "register_cell_magic",
    "register_line_cell_magic",
    "needs_local_scope",
    "no_var_expand",
    "output_can_be_silenced",
]

_KINDS = {"line": ("line",), "cell": ("cell",), "line_cell": ("line", "cell")}


def _decorator(kind, mark):
    """A decorator for use without parentheses, or with the name of the magic as argument."""

    def decorate(argument=None):
        if callable(argument):
            mark(argument, kind, argument.__name__)
            return argument

        def named(function):
            mark(function, kind, argument or function.__name__)
            return function

        return named

    return decorate


def _register(function, kind, name):
    get_ipython().register_magic_function(function, kind, name)


def _remember(function, kind, name):
    function.__dict__.setdefault("_inkcell_magics", []).append((kind, name))


register_line_magic = _decorator("line", _register)
register_cell_magic = _decorator("cell", _register)
register_line_cell_magic = _decorator("line_cell", _register)
line_magic = _decorator("line", _remember)
cell_magic = _decorator("cell", _remember)
line_cell_magic = _decorator("line_cell", _remember)


def magics_class(cls):
    """Collects the marked methods of a class as names; an instance binds them later."""
    cls.registered = True
    cls.magics = {"line": {}, "cell": {}}
    for base in reversed(cls.__mro__):
        for attribute, function in vars(base).items():
            for kind, name in getattr(function, "_inkcell_magics", ()):
                for part in _KINDS[kind]:
                    cls.magics[part][name] = attribute
    return cls


class Magics:
    """Base of classes of magics; an instance has `magics[kind][name]` as bound methods."""

    registered = False
    magics = {"line": {}, "cell": {}}

    def __init__(self, shell=None, **kwargs):
        if not type(self).registered:
            raise ValueError("Magics subclass without registration - did you forget to apply @magics_class?")
        self.shell = get_ipython() if shell is None else shell
        self.options_table = {}
        self.magics = {
            kind: {name: getattr(self, attribute) for name, attribute in names.items()}
            for kind, names in type(self).magics.items()
        }


def needs_local_scope(function):
    """Marks a magic that wants the caller's names as `local_ns`."""
    function.needs_local_scope = True
    return function


def no_var_expand(function):
    """Marks a magic whose line keeps `$name` and `{name}` unchanged."""
    function._ipython_magic_no_var_expand = True
    return function


def output_can_be_silenced(function):
    """Marks a magic whose value a trailing semicolon hides."""
    function._ipython_magic_output_can_be_silenced = True
    return function
