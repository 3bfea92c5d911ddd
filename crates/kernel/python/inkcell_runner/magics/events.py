"""Callbacks around cells, and the arguments and results of `run_cell` and its callbacks.

Owns `get_ipython().events`. It must not know when cells run: the session triggers.
"""

import sys


class ExecutionInfo:
    """The argument of the callbacks of `pre_run_cell`."""

    def __init__(self, raw_cell, store_history=False, silent=False):
        self.raw_cell = raw_cell
        self.store_history = store_history
        self.silent = silent
        self.shell_futures = True
        self.cell_id = None


class ExecutionResult:
    """The result of a `run_cell`."""

    def __init__(self, info, count=None):
        self.info = info
        self.execution_count = count
        self.result = None
        self.error_before_exec = None
        self.error_in_exec = None

    @property
    def success(self):
        return self.error_before_exec is None and self.error_in_exec is None

    def raise_error(self):
        """Raises the exception of the code, if any."""
        error = self.error_before_exec or self.error_in_exec
        if error is not None:
            raise error


class Events:
    """Callbacks around cells."""

    NAMES = ("pre_execute", "post_execute", "pre_run_cell", "post_run_cell", "shell_initialized")

    def __init__(self, shell):
        self._shell = shell
        self.callbacks = {name: [] for name in self.NAMES}

    def register(self, event, function):
        if not callable(function):
            raise TypeError("Need a callable, got %r" % (function,))
        if function not in self.callbacks[event]:
            self.callbacks[event].append(function)

    def unregister(self, event, function):
        if function not in self.callbacks[event]:
            raise ValueError("Function %r is not registered as a %s callback" % (function, event))
        self.callbacks[event].remove(function)

    def trigger(self, event, *args):
        """Calls all callbacks; an exception in one is reported and does not stop the others."""
        callbacks = self.callbacks[event]
        if not callbacks:
            return
        if args == (None,):
            args = (self._described(event),)
        for function in list(callbacks):
            try:
                function(*args[: _accepted(function, len(args))])
            except (Exception, KeyboardInterrupt):
                print("Error in callback %r (for %s):" % (function, event), file=sys.stderr)
                self._shell.showtraceback()

    def _described(self, event):
        """The argument that IPython would pass: callbacks read the source of the cell from it."""
        history = self._shell.session.history
        info = ExecutionInfo(history[-1] if history else "", store_history=True)
        if event == "post_run_cell":
            return ExecutionResult(info, self._shell.execution_count)
        return info


def _accepted(function, given):
    """The number of `given` arguments that the callback takes; old callbacks take none."""
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return given
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return given
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return min(given, sum(p.kind in positional for p in parameters))
