"""Runs cells with the interpreter's own IPython, and reports them like the session's own cells.

Owns the connection of the two: one call that runs a cell and returns the exception that ended it, and the setup before
a runner's first cell.  It must not know how the shell differs from IPython's; see `ipython_shell`.
"""

import os
import sys

from . import displays
from .channel import to_json
from .ipython_text import plain

# ipykernel's name for the backend that draws figures after a cell.
BACKEND = "module://matplotlib_inline.backend_inline"

_MAX_TEXT = 100_000
# How much of the output of cells is kept for `%notebook`: of each cell, and of all together.
_MAX_OF_CELL = 1 << 20
_MAX_OF_ALL = 1 << 24


def require(session):
    """Imports IPython before the user's folder is in the path and can hide it. The kernel cannot run without it."""
    try:
        from . import ipython_shell  # noqa: F401
    except ImportError as problem:
        if getattr(problem, "name", None) == "IPython":
            _refuse(session, "is not installed", "install it there")
        _refuse(session, "cannot be imported (%s)" % problem, "repair it there")


def host(session):
    """Makes IPython run the cells of this session."""
    try:
        session.hosted = Hosted(session)
    except Exception as problem:
        import traceback

        last = traceback.extract_tb(problem.__traceback__)[-1]
        place = "%s, line %d" % (last.filename, last.lineno)
        _refuse(session, "does not start (%s: %s)" % (type(problem).__name__, problem), "see " + place)


def _refuse(session, found, remedy):
    """Ends the process with a reason for the host."""
    text = "python.shell is ipython, but IPython %s in %s: %s, or set python.shell = lite"
    session.channel.send("failed", '"reason":%s' % to_json(text % (found, sys.executable, remedy)))
    os._exit(1)


def _bounded(text):
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "… [%d characters more]" % (len(text) - _MAX_TEXT)


class Hosted:
    """The IPython that runs this session's cells."""

    def __init__(self, session):
        from .ipython_shell import make

        self._session = session
        self._kept, self._room, self._left = None, 0, _MAX_OF_ALL
        self.shell, problems = make(session)
        session.shell_object = self.shell
        session.history = self.shell.history_manager.input_hist_parsed
        session.outputs = self.shell.history_manager.output_hist
        session.send_stream = self._send_stream
        # Helpers use IPython's `display` to show something.
        displays.display = self._display
        _refuse_passwords(session)
        _choose_backend()
        self._said = self._start(problems)

    def _start(self, problems):
        """Runs the profile's startup files. Keeps their output until the host listens."""
        from .ipython_profile import start

        with self._session.capture() as captured:
            for problem in problems:
                print(problem, file=sys.stderr)
            try:
                start(self.shell)
            except (Exception, SystemExit):
                self.shell.showtraceback()
            self._session.streams.install()
        return captured

    def hide_names(self):
        """Hides the names that the namespace starts with from `%who`: they do not belong to the user."""
        self.shell.hide(self._session.namespace)

    def after_ready(self):
        """Sends the output of startup files, now that the host can take it."""
        said, self._said = self._said, None
        for name in ("stdout", "stderr"):
            text = getattr(said, name)
            if text:
                self._session.send_stream(name, text.encode())

    def run(self, code, silent):
        """Runs a cell. Returns the exception that ended it, or None."""
        shell = self.shell
        shell.begin_cell()
        self._kept, self._room = None if silent else [], min(_MAX_OF_CELL, self._left)
        error = None
        try:
            result = shell.run_cell(code, store_history=not silent, silent=silent)
            error = result.error_in_exec if result.error_before_exec is None else result.error_before_exec
            if error is None:
                shell.show_rest()
        except BaseException as problem:
            error = problem
        finally:
            self._session.count = shell.execution_count - 1
            self._session.flush()
            self._keep_output()
            # Payloads are for front ends that this kernel does not have.
            shell.payload_manager.clear_payload()
        return error

    def describe(self, error):
        """Returns class, message, coloured lines and plain lines of an error."""
        name = type(error).__name__
        if name == "_IncompleteInputError":
            # A private name of Python 3.13 for a syntax error.
            name = "SyntaxError"
        try:
            value = _bounded(str(error))
        except BaseException as problem:
            value = "<no text: its __str__ raised %s>" % type(problem).__name__
        shown = self.shell.shown
        if shown is not None and shown[0] is error:
            lines = shown[1]
        else:
            lines = self._lay_out(error, "%s: %s" % (name, value))
        lines = [_bounded(str(line)) for line in lines]
        return name, value, lines, [plain(line) for line in lines]

    def _lay_out(self, error, fallback):
        try:
            table = self.shell.SyntaxTB if isinstance(error, SyntaxError) else self.shell.InteractiveTB
            return table.structured_traceback(type(error), error, error.__traceback__)
        except Exception:
            return [fallback]

    @staticmethod
    def _display(*objects, **options):
        from IPython.display import display

        return display(*objects, **options)

    # The output that IPython's `%notebook` needs.

    def _send_stream(self, name, data):
        session = self._session
        if self._kept is not None and self._room > 0 and not session.capturing:
            self._kept.append((name, bytes(data)))
            self._room -= len(data)
        type(session).send_stream(session, name, data)

    def _keep_output(self):
        kept, self._kept = self._kept, None
        outputs = getattr(self.shell.history_manager, "outputs", None)
        if not kept or outputs is None:
            return
        from IPython.core.history import HistoryOutput

        self._left -= sum(len(data) for _, data in kept)
        for name, data in kept:
            kind = "out_stream" if name == "stdout" else "err_stream"
            bundle = {"stream": [data.decode("utf-8", "replace")]}
            outputs[self._session.count].append(HistoryOutput(output_type=kind, bundle=bundle))


def _refuse_passwords(session):
    import getpass

    getpass.getpass = lambda prompt="Password: ", stream=None: session.read_line(prompt, True)


def _choose_backend():
    """Sets the backend of a matplotlib that was imported before the fork: it has not seen this kernel's environment.
    An inline backend imported then has not seen this kernel's shell."""
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is None or not hasattr(matplotlib, "rcParams"):
        return
    chosen = os.environ["MPLBACKEND"]
    # Bypass the lookup of rcParams, which would choose and load a backend.
    if not isinstance(dict.get(matplotlib.rcParams, "backend"), str):
        matplotlib.rcParams["backend"] = chosen
    inline = sys.modules.get("matplotlib_inline.backend_inline")
    if inline is not None and chosen == BACKEND:
        inline._enable_matplotlib_integration()
