"""What libraries want done around a fork, and what of it a copy of the fork server needs.

Owns the list.  Libraries take their locks before a fork and make them anew in the child, because another
thread may hold them.  The fork server has no other thread, so for the modules named here that is work for
nothing, and it would be done in every copy.  For the forks that cells make it is done as ever.
"""

import os
import sys

# Modules of Python's own that do no more than this, or that are seen to in another way, and the runner's.
_NEEDLESS = ("threading", "logging", "concurrent.futures.thread", "random")


def _is_needless(name):
    return isinstance(name, str) and (name in _NEEDLESS or name.startswith("inkcell_runner."))


class ForkHooks:
    """Stands in the place of `os.register_at_fork` while the fork server imports."""

    def __init__(self):
        self._before, self._in_parent, self._in_child = [], [], []
        self._is_serving = True
        self._real = os.register_at_fork
        self._real(before=self._run_before, after_in_parent=self._run_in_parent, after_in_child=self._run_in_child)
        os.register_at_fork = self._register

    def close(self):
        """What is registered from here on is for every fork."""
        os.register_at_fork = self._real

    def hand_over(self):
        """In a copy: from here on forks are those of cells."""
        self._is_serving = False
        threading = sys.modules.get("threading")
        if threading is not None:
            # The one thing its hook would have done: the number that the system has for this thread.
            renumber = getattr(threading.main_thread(), "_set_native_id", None)
            if renumber is not None:
                renumber()

    def _register(self, *, before=None, after_in_child=None, after_in_parent=None):
        given = {"before": before, "after_in_child": after_in_child, "after_in_parent": after_in_parent}
        given = {name: function for name, function in given.items() if function is not None}
        # Who got hold of this function while it stood there may still call it.
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
    """As Python does it: one that fails is reported and holds up no other."""
    for function in functions:
        try:
            function()
        except Exception:
            sys.unraisablehook(_Unraisable(function))


def quiet_fork():
    """Forks without a warning about threads. Python warns of those that a copy will not have. If warnings are errors,
    the child would exist and nobody would know it."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


class _Unraisable:
    err_msg = None

    def __init__(self, function):
        self.exc_type, self.exc_value, self.exc_traceback = sys.exc_info()
        self.object = function
