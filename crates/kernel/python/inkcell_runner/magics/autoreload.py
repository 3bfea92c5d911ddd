"""`%autoreload`: reading modules again before a cell if they changed on disk.

Owns noticing changes and updating old objects: functions and classes that the user imported by name keep
working, because the reloader changes them in place instead of replacing them.
"""

import os
import sys

from ..shell import UsageError
from .options import without_comment


class Reloader:
    """The watched modules, and the state of each file at the last read."""

    def __init__(self, shell):
        self._shell = shell
        self.mode = "0"
        self.chosen = set()
        self.skipped = set()
        self._seen = {}
        self._failed = {}
        shell.events.register("pre_run_cell", self._before)
        shell.events.register("post_run_cell", self._after)

    def _before(self, info=None):
        if self.mode != "0":
            self.check()

    def _after(self, result=None):
        if self.mode != "0":
            # A module imported by this cell is compared with the file it was read from.
            self._changed(remember=True)

    def check(self, everything=False):
        """Reads changed modules again."""
        for name, stamp in self._changed(remember=False, everything=everything):
            module = sys.modules[name]
            if self._failed.get(name) == stamp:
                # Report the same broken file only once.
                continue
            try:
                reload(module)
            except BaseException as error:
                if isinstance(error, (KeyboardInterrupt, SystemExit)):
                    raise
                import traceback

                self._failed[name] = stamp
                text = traceback.format_exc(10)
                print("[autoreload of %s failed: %s]" % (name, text), file=sys.stderr)
            else:
                self._failed.pop(name, None)
                self._seen[name] = stamp

    def _changed(self, remember, everything=False):
        changed = []
        for name, module in list(sys.modules.items()):
            path = _source(name, module)
            if path is None:
                continue
            try:
                found = os.stat(path)
            except OSError:
                continue
            stamp = (path, found.st_mtime_ns, found.st_size)
            before = self._seen.setdefault(name, stamp)
            if before != stamp and not remember and self._watched(name, everything):
                changed.append((name, stamp))
        return changed

    def _watched(self, name, everything):
        if name in self.skipped:
            return False
        return everything or self.mode in ("2", "3") or name in self.chosen


def _source(name, module):
    """The source file of a module that may be reloaded, or None."""
    path = getattr(module, "__file__", None)
    if not isinstance(path, str) or not path.endswith(".py") or name in ("__main__", "__mp_main__"):
        return None
    # The user cannot reload the runner itself.
    if name.partition(".")[0] == __name__.partition(".")[0]:
        return None
    return path


def reload(module):
    """Runs the module's file again in its namespace, then updates old objects."""
    old = dict(module.__dict__)
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    if hasattr(loader, "get_data") and hasattr(loader, "source_to_code"):
        # Skip the cached bytecode: it compares file times in whole seconds only.
        path = module.__file__
        code = loader.source_to_code(loader.get_data(path), path)
        import linecache

        linecache.checkcache(path)
        exec(code, module.__dict__)
    else:
        import importlib

        importlib.reload(module)
    for name, before in old.items():
        after = module.__dict__.get(name)
        if after is not None and after is not before and _defined_in(before, module):
            _update(before, after)


def _defined_in(thing, module):
    return getattr(thing, "__module__", None) == module.__name__


def _update(old, new):
    """Makes `old` behave like `new` if both are of a kind that can change in place."""
    import types

    if isinstance(old, type) and isinstance(new, type):
        _update_class(old, new)
    elif isinstance(old, types.FunctionType) and isinstance(new, types.FunctionType):
        _update_function(old, new)
    elif isinstance(old, (classmethod, staticmethod)) and type(old) is type(new):
        _update(old.__func__, new.__func__)
    elif isinstance(old, types.MethodType) and isinstance(new, types.MethodType):
        _update(old.__func__, new.__func__)
    elif isinstance(old, property) and isinstance(new, property):
        for part in ("fget", "fset", "fdel"):
            _update(getattr(old, part), getattr(new, part))
    elif hasattr(old, "__wrapped__") and hasattr(new, "__wrapped__"):
        _update(old.__wrapped__, new.__wrapped__)


def _update_function(old, new):
    if len(old.__code__.co_freevars) != len(new.__code__.co_freevars):
        # Code with other closed variables does not fit; the old function stays unchanged.
        return
    for name in ("__code__", "__defaults__", "__kwdefaults__", "__doc__", "__annotations__"):
        try:
            setattr(old, name, getattr(new, name))
        except (AttributeError, TypeError, ValueError):
            pass
    for cell, fresh in zip(old.__closure__ or (), new.__closure__ or ()):
        try:
            inner, now = cell.cell_contents, fresh.cell_contents
        except ValueError:
            continue
        if inner is not old and callable(inner) and callable(now) and inner is not now:
            # A decorated function: the function inside changed too.
            _update(inner, now)
        elif not callable(inner) or not callable(now):
            # `__class__` cells and functions keep the old objects, which are updated.
            if not isinstance(inner, type):
                cell.cell_contents = now
    old.__dict__.update(new.__dict__)


_CLASS_KEEPS = ("__dict__", "__weakref__", "__class__", "__mro__", "__slots__")


def _update_class(old, new):
    import gc

    for name in list(old.__dict__):
        if name in _CLASS_KEEPS:
            continue
        if name not in new.__dict__:
            _attempt(delattr, old, name)
    for name, after in list(new.__dict__.items()):
        if name in _CLASS_KEEPS:
            continue
        before = old.__dict__.get(name)
        if before is after:
            continue
        if before is not None and _same_kind_of_code(before, after):
            _update(before, after)
            if not isinstance(after, property):
                continue
        _attempt(setattr, old, name, after)
    if old.__bases__ != new.__bases__:
        _attempt(setattr, old, "__bases__", new.__bases__)
    # Older objects get the current class.
    for thing in gc.get_referrers(old):
        if type(thing) is old:
            _attempt(object.__setattr__, thing, "__class__", new)


def _same_kind_of_code(before, after):
    import types

    kinds = (types.FunctionType, classmethod, staticmethod, property)
    if not isinstance(before, kinds) or type(before) is not type(after):
        return False
    inner = getattr(before, "__func__", before)
    other = getattr(after, "__func__", after)
    if isinstance(inner, types.FunctionType) and isinstance(other, types.FunctionType):
        # `super()` and `__class__` of the new code would refer to the new class.
        return len(inner.__code__.co_freevars) == len(other.__code__.co_freevars)
    return isinstance(before, property)


def _attempt(action, *args):
    try:
        action(*args)
    except (AttributeError, TypeError):
        pass


def _reloader(shell):
    if getattr(shell, "_reloader", None) is None:
        shell._reloader = Reloader(shell)
    return shell._reloader


_MODES = {"off": "0", "explicit": "1", "all": "2", "complete": "3"}


def autoreload(shell, line=""):
    """Reload modules automatically.

    ``%autoreload``: now. ``0``/``off``: never. ``1``/``explicit``: those of ``%aimport``.
    ``2``/``all``: every module, before each cell. ``3``/``complete``: as 2.
    """
    if not any(name.endswith("autoreload") for name in shell.loaded_extensions):
        raise UsageError("Line magic function `%autoreload` not found.")
    reloader = _reloader(shell)
    mode = (without_comment(line).split() or ["now"])[0].lower()
    mode = _MODES.get(mode, mode)
    if mode == "now":
        reloader.check(everything=True)
    elif mode in ("0", "1", "2", "3"):
        reloader.mode = mode
        # Changes count from now on, including those of modules imported earlier.
        reloader._changed(remember=True)
    else:
        raise ValueError('Unrecognized autoreload mode "%s".' % mode)


def aimport(shell, line=""):
    """Import modules for ``%autoreload 1``. ``%aimport NAME, -NAME``; alone it lists them."""
    import importlib

    reloader = _reloader(shell)
    names = without_comment(line).replace(",", " ").split()
    if not names:
        print("Modules to reload:")
        print("all-except-skipped" if reloader.mode in ("2", "3") else " ".join(sorted(reloader.chosen)))
        print("\nModules to skip:")
        print(" ".join(sorted(reloader.skipped)))
        return
    for name in names:
        if name.startswith("-"):
            reloader.skipped.add(name[1:])
            reloader.chosen.discard(name[1:])
            continue
        importlib.import_module(name)
        reloader.chosen.add(name)
        reloader.skipped.discard(name)
        top = name.partition(".")[0]
        shell.user_ns[top] = sys.modules[top]
    reloader._changed(remember=True)


MAGICS = {"autoreload": autoreload, "aimport": aimport}
