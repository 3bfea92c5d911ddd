"""The prelude: the table of helpers, and their installation into the user's namespace.

Owns the table of names, the deferred callables behind them, `install` and `docs`. Must not know the effect of
any helper, and imports nothing heavy: a kernel pays for a helper on its first call, not at its start.
"""

import _thread
import sys

# One row per category: its title, the module that implements it, its names.
TABLE = (
    ("Navigation", "navigation", "pwd cd ls tree stat"),
    ("File I/O", "file_io", "read write append cat touch"),
    ("File ops", "file_ops", "mkdir rm mv cp"),
    ("Search", "search", "find glob_files grep rgrep"),
    ("Text", "text", "head tail wc sort_lines sort uniq cols counter"),
    ("Find/Replace", "find_replace", "replace sed rsed"),
    ("Line ops", "line_ops", "lines delete_lines delete_matching insert_at"),
    ("Batch", "batch", "diff batch parallel pipeline"),
    ("Shell", "shell", "env run sh bash"),
    (
        "Git",
        "git",
        "git_status git_diff git_log git_show git_file_at git_branch git_has_changes",
    ),
    ("Output", "output", "output display log phase"),
    ("Output", "bridge", "tool"),
)

_hiding = _thread.RLock()

MINIMAL = frozenset("display bash sh run env output log phase tool".split())
LEVELS = ("full", "minimal", "off")

# Names of modules in the standard library. Python 3.9 has no list of them; for it, this lists the modules that
# the helpers import.
_LIBRARY_NAMES = getattr(
    sys,
    "stdlib_module_names",
    frozenset(
        "codecs collections concurrent contextlib contextvars datetime difflib email"
        " functools http inspect io itertools json os pathlib queue re selectors shlex"
        " shutil signal socket ssl string subprocess tempfile threading types urllib".split()
    ),
)


def _library_path():
    """The entries of `sys.path` that hold Python's own library, and the entries before them."""
    os = sys.modules["os"]
    library = os.path.dirname(os.__file__)
    own, before = [], []
    for entry in sys.path:
        name = os.path.basename(entry)
        zipped = name.startswith("python") and name.endswith(".zip")
        if entry == library or name == "lib-dynload" or zipped:
            own.append(entry)
        elif library not in own:
            before.append(entry)
    return own, before


def _shadowed(directories):
    """Whether one of the directories holds a module with the name of a library module."""
    os = sys.modules["os"]
    for directory in directories:
        try:
            names = os.listdir(directory or ".")
        except OSError:
            continue
        for name in names:
            stem = name.partition(".")[0]
            if stem in _LIBRARY_NAMES and stem not in sys.modules:
                return True
    return False


def _implementation(module):
    """Import one module of this package, out of reach of the user's own modules.

    The user may import a `subprocess.py` from their own directory, but it must not become part of a helper.
    This covers the imports at the top of a module, so the modules of this package import nothing from the
    library later.
    """
    full_name = __name__ + "." + module
    found = sys.modules.get(full_name)
    if found is not None and not getattr(found.__spec__, "_initializing", False):
        return found
    # One thread at a time. If a second thread judged the path while the first hides part of it, it would find
    # nothing to hide and then import with the whole path.
    with _hiding:
        own, before = _library_path()
        if not own or not _shadowed(before):
            return __import__(full_name, fromlist=["*"])
        # Other threads see the shorter path during this import, so it happens only if there is something to hide.
        kept, sys.path = sys.path, own
        try:
            return __import__(full_name, fromlist=["*"])
        finally:
            sys.path = kept


class Deferred:
    # A comment instead of a docstring, because `__doc__` must return the helper's own text. To `help`, `inspect`
    # and pickle an instance looks like its function, and loads it when any of them, or a call, needs it.
    __slots__ = ("__name__", "category", "_module", "_function")

    def __init__(self, name, category, module):
        self.__name__ = name
        self.category = category
        self._module = module
        self._function = None

    @property
    def __wrapped__(self):
        if self._function is None:
            self._function = getattr(_implementation(self._module), self.__name__)
        return self._function

    @property
    def __doc__(self):
        return self.__wrapped__.__doc__

    def __call__(self, *args, **kwargs):
        return self.__wrapped__(*args, **kwargs)

    def __getattr__(self, name):
        # Pass on only attributes that functions have: a display that asks for `_repr_html_` must not cause an
        # import.
        if name.startswith("__") and name.endswith("__"):
            return getattr(self.__wrapped__, name)
        raise AttributeError(name)

    def __get__(self, instance, owner=None):
        # Functions bind like this, and it makes `inspect` and `help` treat the object as a routine and print its
        # signature.
        if instance is None:
            return self
        return type(self.__call__)(self, instance)

    def __reduce__(self):
        return (helper, (self.__name__,))

    def __repr__(self):
        return "<prelude helper %s>" % self.__name__


class Tools:
    """Calls the host's tools: `tool.name({...}, **more)` returns the tool's value."""

    __slots__ = ()
    __name__ = "tool"
    category = "Output"

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name):
        return _implementation("bridge").Tool(name)

    def __reduce__(self):
        return (helper, ("tool",))

    def __repr__(self):
        return _implementation("bridge").describe()


_HELPERS = {
    name: Tools() if name == "tool" else Deferred(name, category, module)
    for category, module, names in TABLE
    for name in names.split()
}


def helper(name):
    """The deferred object for the helper `name`."""
    return _HELPERS[name]


def install(session, level="full"):
    """Put the helpers of `level` into the session's namespace; return the names added.

    An existing name stays, so the user's own name wins and a second call adds only missing names, as `%reset`
    needs.
    """
    if level not in LEVELS:
        raise ValueError(
            "python.prelude is %r; it can be %s" % (level, ", ".join(map(repr, LEVELS)))
        )
    if level == "off":
        return []
    namespace = session.namespace
    added = [
        name
        for name in _HELPERS
        if name not in namespace and (level == "full" or name in MINIMAL)
    ]
    for name in added:
        namespace[name] = _HELPERS[name]
    return added


def installed(namespace):
    """The names in `namespace` that are still helpers; listings of the user's names omit them."""
    return {name for name, value in _HELPERS.items() if namespace.get(name) is value}


def docs():
    """Name, signature, first line and category of every helper, by category and name."""
    return _implementation("describe").rows(_HELPERS)
