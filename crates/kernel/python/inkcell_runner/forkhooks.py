"""Holds the functions that libraries register to run around a fork.

Owns the list, and skips what a copy of the fork server does not need.  Libraries take their locks before a fork and
create them again in the child, because another thread may hold them.  The fork server has no other thread. For the
modules named here that work would be wasted in every copy.  When a cell forks, all functions run.
"""
import os
import sys

# Modules of Python whose functions do only this, or whose work the runner does in another way, and the runner's own.
_NEEDLESS = ("threading", "logging", "concurrent.futures.thread", "random")


def _is_needless(name):
    return isinstance(name, str) and (name in _NEEDLESS or name.startswith("inkcell_runner."))


class ForkHooks:
    """Replaces `os.register_at_fork` while the fork server imports."""

    def __init__(self):
        self._before, self._in_parent, self._in_child = [], [], []
        self._is_serving = True
        self._real = os.register_at_fork
        self._real(before=self._run_before, after_in_parent=self._run_in_parent, after_in_child=self._run_in_child)
        os.register_at_fork = self._register

    def close(self):
        """Restores Python's function. Functions registered after this run at every fork."""
        os.register_at_fork = self._real

    def hand_over(self):
        """Called in a copy: from here on, cells make the forks."""
        self._is_serving = False
        threading = sys.modules.get("threading")
        if threading is not None:
            # The only effect of that module's hook that a copy needs: the system's number of this thread.
            renumber = getattr(threading.main_thread(), "_set_native_id", None)
            if renumber is not None:
                renumber()

    def _register(self, *, before=None, after_in_child=None, after_in_parent=None):
        given = {"before": before, "after_in_child": after_in_child, "after_in_parent": after_in_parent}
        given = {name: function for name, function in given.items() if function is not None}
        # A library that kept a reference to this function may still call it.
        if not self._is_serving or not all(map(callable, given.values())):
            self._real(**given)
        elif not _is_needless(sys._getframe(1).f_globals.get("__name__")):
            self._real(**given)
        else:
            for name, functions in (
                ("before", self._before),
                ("after_in_parent", self._in_parent),
                ("after_in_child", self._in_child),
            ):
                if name in given:
                    functions.append(given[name])

    def _run_before(self):
        if not self._is_serving:
            _call_all(reversed(self._before))

    def _run_in_parent(self):
        if not self._is_serving:
            _call_all(self._in_parent)

    def _run_in_child(self):
        if not self._is_serving:
            _call_all(self._in_child)


def _call_all(functions):
    """Calls all functions. One that fails is reported and does not stop the others, as in Python."""
    for function in functions:
        try:
            function()
        except Exception:
            sys.unraisablehook(_Unraisable(function))


def quiet_fork():
    """Forks without a warning about threads. Python warns about threads that a copy will not have. If warnings are
    errors, the child would exist and its parent would not know it."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


class _Unraisable:
    err_msg = None

    def __init__(self, function):
        self.exc_type, self.exc_value, self.exc_traceback = sys.exc_info()
        self.object = function
