"""`%load_ext`, `%unload_ext` and `%reload_ext`.

Owns the record of loaded extensions and the protocol: a module with `load_ipython_extension(shell)`. Autoreload
is part of the runner.
"""

import sys

from ..shell import UsageError
from .options import without_comment

# IPython's own extensions that need only the runner, by their names.
_OURS = {"autoreload": "autoreload", "IPython.extensions.autoreload": "autoreload"}


def _module_name(line):
    name = without_comment(line).strip("\"'")
    if not name:
        raise UsageError("Missing module name.")
    return name


def load_ext(shell, line):
    """Load an extension by its module name."""
    name = _module_name(line)
    result = _load(shell, name)
    if result == "already loaded":
        print("The %s extension is already loaded. To reload it, use:" % name)
        print("  %reload_ext", name)
    elif result == "no load function":
        print("The %s module is not an IPython extension." % name)


def _load(shell, name):
    if name in shell.loaded_extensions:
        return "already loaded"
    if name not in _OURS:
        import importlib

        if name not in sys.modules:
            importlib.import_module(name)
        module = sys.modules[name]
        if not hasattr(module, "load_ipython_extension"):
            return "no load function"
        module.load_ipython_extension(shell)
    shell.loaded_extensions.append(name)
    return None


def unload_ext(shell, line):
    """Unload an extension by its module name."""
    name = _module_name(line)
    result = _unload(shell, name)
    if result == "no unload function":
        print("The %s extension doesn't define how to unload it." % name)
    elif result == "not loaded":
        print("The %s extension is not loaded." % name)


def _unload(shell, name):
    if name not in shell.loaded_extensions:
        return "not loaded"
    if name in _OURS:
        shell.run_line_magic("autoreload", "0")
    else:
        module = sys.modules.get(name)
        if not hasattr(module, "unload_ipython_extension"):
            return "no unload function"
        module.unload_ipython_extension(shell)
    shell.loaded_extensions.remove(name)
    return None


def reload_ext(shell, line):
    """Reload an extension by its module name."""
    name = _module_name(line)
    if name in _OURS or name not in shell.loaded_extensions:
        # The runner's own extensions do not change on disk; if one is not loaded yet, load it.
        _load(shell, name)
        return
    import importlib

    _unload(shell, name)
    if name in shell.loaded_extensions:
        shell.loaded_extensions.remove(name)
    importlib.reload(sys.modules[name])
    _load(shell, name)


MAGICS = {"load_ext": load_ext, "unload_ext": unload_ext, "reload_ext": reload_ext}
