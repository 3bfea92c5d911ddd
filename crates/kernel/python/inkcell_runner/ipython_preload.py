"""Loads everything that IPython needs for its first cells, as soon as this module is imported.

Owns the list.  It contains the modules that first cells of each kind turned out to import. A name that the installed
version of IPython does not have is skipped.
"""

import importlib

from . import ipython_session, ipython_shell  # noqa: F401

_NAMES = (
    # The first cell.
    "getpass",
    "hashlib",
    "random",
    "tempfile",
    "shutil",
    "unicodedata",
    "IPython.core.completer",
    "IPython.core.completerlib",
    "IPython.core.crashhandler",
    "IPython.core.logger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "IPython.external.pickleshare",
    "IPython.utils.wildcard",
    "IPython.display",
    "IPython.lib.pretty",
    # The first traceback.
    "IPython.core.ultratb",
    "IPython.core.debugger",
    "IPython.core.doctb",
    "IPython.core.tbtools",
    "IPython.utils.PyColorize",
    "bdb",
    "executing",
    "pygments.formatters.terminal256",
    "pygments.lexers",
    "pygments.styles.default",
    "stack_data",
    # The first cell that awaits.
    "asyncio",
    # The first magics.
    "IPython.core.magics.auto",
    "IPython.core.magics.basic",
    "IPython.core.magics.code",
    "IPython.core.magics.config",
    "IPython.core.magics.display",
    "IPython.core.magics.execution",
    "IPython.core.magics.extension",
    "IPython.core.magics.history",
    "IPython.core.magics.logging",
    "IPython.core.magics.namespace",
    "IPython.core.magics.osm",
    "IPython.core.magics.packaging",
    "IPython.core.magics.pylab",
    "IPython.core.magics.script",
    "IPython.utils._process_posix",
    "IPython.utils.capture",
    "pexpect",
)

for _name in _NAMES:
    try:
        importlib.import_module(_name)
    except ImportError:
        pass


def _warm():
    """Fills the caches that IPython fills when it handles a cell: mostly compiled patterns."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.formatters import DisplayFormatter
    from IPython.core.inputtransformer2 import TransformerManager

    TransformerManager().transform_cell("%magic\n!command\nname?\n1 + 1\n")
    DisplayHook.semicolon_at_end_of_expression("1 + 1\n")
    DisplayFormatter().format([1, "a", {}])


try:
    _warm()
except (AttributeError, ImportError):
    # Another version of IPython; its first cell is a little slower.
    pass
