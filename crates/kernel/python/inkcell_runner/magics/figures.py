"""`%matplotlib`, `%pylab`: figures in the notebook.

Owns the arguments of these magics. The runner's module `figures` shows the figures.
"""

import sys

from .options import without_comment

_BACKENDS = (
    "agg auto gtk gtk3 gtk4 inline ipympl nbagg notebook osx pdf ps qt qt4 qt5 qt6 svg tk webagg widget wx".split()
)


def _installed(name):
    import importlib.util

    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def matplotlib(shell, line=""):
    """Set up matplotlib to work in the notebook. ``%matplotlib [inline]``

    Every backend means the same here: figures appear after each cell.
    """
    words = without_comment(line).split()
    if words and words[0] in ("-l", "--list"):
        print("Available matplotlib backends: %s" % _BACKENDS)
        return
    if not _installed("matplotlib"):
        # IPython fails here too, with the error of the import.
        raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
    if words and words[0].strip("\"'").lower() not in _BACKENDS:
        print("Warning: unknown matplotlib backend %r; figures are shown inline." % words[0], file=sys.stderr)
    from .. import figures

    figures.use_inline()


def pylab(shell, line=""):
    """Load numpy and matplotlib to work interactively. ``%pylab [--no-import-all] [inline]``"""
    words = without_comment(line).split()
    import importlib

    names = shell.user_ns
    for module in ("numpy", "matplotlib"):
        names[module] = importlib.import_module(module)
    for module in ("pylab", "mlab", "pyplot"):
        names[module] = importlib.import_module("matplotlib." + module)
    names["np"], names["plt"] = names["numpy"], names["pyplot"]
    matplotlib(shell, " ".join(word for word in words if not word.startswith("-")))
    if "--no-import-all" not in words:
        exec("from pylab import *\nfrom numpy import *", names)
    print("%pylab is deprecated, use %matplotlib inline and import the required libraries.")
    print("Populating the interactive namespace from numpy and matplotlib")


def gui(shell, line=""):
    """Accepted; there is no window system here."""


MAGICS = {"matplotlib": matplotlib, "pylab": pylab, "gui": gui}
