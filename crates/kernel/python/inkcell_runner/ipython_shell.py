"""The interpreter's own IPython shell, without a terminal and without files of its own.

Owns the differences from IPython's shell: where displays, results and tracebacks go, and what a kernel without a
person at a keyboard leaves out.  It must not know requests or frames; `ipython_session` runs its cells.
"""

import os
import sys
from contextlib import contextmanager

from IPython.core import interactiveshell, page
from IPython.core.autocall import ExitAutocall
from IPython.core.history import HistoryManager
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type, default, observe

from . import ipython_helpers, ipython_profile
from .frontend import Kernel
from .ipython_display import Publisher, ResultHook
from .ipython_text import has_group, plain, without_own_frames
from .magics import Builtin


class Leave(ExitAutocall):
    """Makes `exit` and `quit` end only the cell, because the kernel belongs to the host."""

    def __call__(self, code=None, keep_kernel=False):
        raise SystemExit(code)


# The magics that ipykernel adds to IPython's own.
_KERNEL_MAGICS = {
    "settings": ("autosave", "connect_info", "edit", "qtconsole"),
    "environment": ("less", "man", "more"),
}


class History(HistoryManager):
    """The cells of this session, and no others."""

    def get_tail(self, n=10, raw=True, output=False, include_latest=False):
        """The last cells. IPython reads them from its database, which this kernel does not have."""
        cells = list(self.get_range(0, 1, None, raw=raw, output=output))
        return cells[-n:] if include_latest else cells[:-1][-n:]


class RunnerShell(InteractiveShell):
    """IPython's shell. To run a cell, call `begin_cell` and then `run_cell`."""

    displayhook_class = Type(ResultHook)
    display_pub_class = Type(Publisher)

    # How many calls of `run_cell` are active, one inside the other: user code may call it too.
    _depth = 0
    # IPython's result object of the cell, set once the cell's code runs.
    _result = None
    # The exception that ended the cell, with its traceback as IPython formats it.
    shown = None
    # The interrupt that is cancelling the cell's task, or None.
    cancelled_by = None

    def __init__(self, session, **options):
        self.session = session
        super().__init__(**options)
        self.kernel = Kernel(self)
        runner = self._run_on_loop
        self.loop_runner_map = dict(self.loop_runner_map, asyncio=(runner, True))
        if not self.config.get("InteractiveShell", {}).get("loop_runner"):
            self.loop_runner = runner

    # Parts that a kernel without a terminal leaves out.

    def init_ipython_dir(self, ipython_dir):
        self.ipython_dir = ipython_dir

    @observe("ipython_dir")
    def _ipython_dir_changed(self, change):
        """Does nothing, where IPython creates the folder: this kernel only reads from it."""

    def init_history(self):
        # No database: the history of this session is in memory.
        self.history_manager = History(shell=self, parent=self, enabled=False)
        self.configurables.append(self.history_manager)

    def init_virtualenv(self):
        """Does nothing: the interpreter was chosen already, and modules of another environment would not fit it."""

    def init_events(self):
        super().init_events()
        trigger, call_before = self.events.trigger, self.session.interrupt.call_before
        # Hooks that run after a cell are interrupted like the cell.
        self.events.trigger = lambda *args, **kwargs: call_before(lambda: trigger(*args, **kwargs))

    def init_environment(self):
        # There is no terminal to page on.
        os.environ["PAGER"] = os.environ["GIT_PAGER"] = "cat"

    def init_hooks(self):
        super().init_hooks()
        self.set_hook("show_in_pager", page.as_hook(_show_page), 99)

    def init_prefilter(self):
        super().init_prefilter()
        ipython_helpers.install(self, lambda: self.session)

    def init_magics(self):
        super().init_magics()
        for module, names in _KERNEL_MAGICS.items():
            for name in names:
                self.register_magic_function(Builtin(self, module, name), "line", name)

    def init_data_pub(self):
        """Does nothing. IPython removed this method long ago."""

    @contextmanager
    def _tee(self, channel):
        """Does nothing. IPython wraps `write` here to keep all output in memory; the session keeps its first part."""
        yield

    @default("autoindent")
    def _no_autoindent(self):
        return False

    def enable_gui(self, gui=None):
        """Accepted without effect: there is no window system to serve."""

    @default("exiter")
    def _exiter_default(self):
        return Leave(self)

    def ask_exit(self):
        raise SystemExit

    def set_next_input(self, text, replace=False):
        """Accepted without effect: a cell that runs here has no next cell to fill."""

    def reset(self, new_session=True, aggressive=False):
        super().reset(new_session, aggressive)
        self.session.install_prelude()
        self.session.hidden = dict(self.user_ns)
        self.hide(self.session.hidden)

    def hide(self, names):
        """Keeps names out of the list that `%who` prints."""
        self.user_ns_hidden.update(names)

    # Running a cell, and telling which traceback belongs to it.

    def begin_cell(self):
        self._depth = 0
        if self.session.wants_names:
            # A cell that is not valid Python uses and makes no names, and never reaches `run_ast_nodes`.
            self.session.tree = []
        self._result = self.shown = self.cancelled_by = None

    def run_cell(self, *args, **kwargs):
        self._depth += 1
        try:
            return super().run_cell(*args, **kwargs)
        finally:
            self._depth -= 1

    async def run_ast_nodes(self, nodelist, cell_name, interactivity="last_expr", compiler=compile, result=None):
        if self._depth == 1:
            self._result = result
            if self.session.wants_names and self.session.tree == []:
                self.session.tree = list(nodelist)
        return await super().run_ast_nodes(nodelist, cell_name, interactivity, compiler, result)

    async def run_code(self, code_obj, *args, **kwargs):
        return await super().run_code(self.session.interrupt.begin(code_obj), *args, **kwargs)

    def _ends_the_cell(self, error):
        """Whether a traceback belongs to the cell. User code may show others, and go on."""
        if self._depth != 1:
            return False
        if self._result is None:
            # No code has run yet: the cell cannot run at all.
            return True
        return error is self._result.error_in_exec or error is self._result.error_before_exec

    def showtraceback(self, exc_tuple=None, *args, **kwargs):
        exc_tuple = exc_tuple or sys.exc_info()
        if self.cancelled_by is not None or isinstance(exc_tuple[1], KeyboardInterrupt):
            # Formatting a traceback can take long. A second interrupt may come before the first is answered.
            self.session.interrupt.unheard(self._show, exc_tuple, *args, **kwargs)
        else:
            self._show(exc_tuple, *args, **kwargs)

    def _show(self, exc_tuple, *args, **kwargs):
        kind, error, trace = exc_tuple
        if error is None:
            super().showtraceback(None, *args, **kwargs)
            return
        # Change the exception too, because the debugger reads it there.
        trace = without_own_frames(trace)
        error.__traceback__ = trace
        if self.cancelled_by is not None and kind.__name__ == "CancelledError":
            # An interrupt cancelled the task, and the interrupt is what the user knows of.
            kind, error = KeyboardInterrupt, self.cancelled_by
            if self._depth == 1:
                self._result.error_in_exec = error
        if has_group(error):
            # IPython only prints these, as Python does. IPython's own frame is the first.
            import traceback

            lines = traceback.format_exception(kind, error, trace and trace.tb_next)
            self._showtraceback(kind, error, [line.rstrip("\n") for line in lines])
            return
        super().showtraceback((kind, error, trace), *args, **kwargs)

    def _showtraceback(self, etype, evalue, stb):
        if self._ends_the_cell(evalue):
            self.shown = (evalue, list(stb))
        else:
            self._tell("\n".join(stb))

    def _tell(self, text):
        """Shows a traceback that does not end the cell, even while the cell captures its output."""
        print(plain(text), file=self.session.streams.stderr)

    def show_rest(self):
        """Shows a traceback that looked like the end of the cell. The cell went on and succeeded."""
        if self.shown is not None:
            self._tell("\n".join(self.shown[1]))

    def show_usage_error(self, exc):
        if self._ends_the_cell(exc):
            self.shown = (exc, ["\x1b[31mUsageError\x1b[39m: %s" % exc])
        else:
            super().show_usage_error(exc)

    def _format_exception_for_storage(self, exception, *args, **kwargs):
        """Makes the record that IPython keeps of a failed cell, without formatting the traceback a second time."""
        name = type(exception).__name__
        if self.shown is not None and self.shown[0] is exception:
            lines = self.shown[1]
        else:
            lines = [name]
        try:
            value = str(exception)
        except Exception:
            value = ""
        return {"ename": name, "evalue": value, "traceback": lines}

    def _run_on_loop(self, coroutine):
        """Runs a cell that awaits.  An interrupt cancels its task, and the cell ends with the interrupt."""
        import asyncio

        loop = self.session.executor.loop.current()
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt as interrupt:
            if task.done():
                raise
            self.cancelled_by = interrupt
            task.cancel()
            try:
                result = loop.run_until_complete(task)
            except (asyncio.CancelledError, KeyboardInterrupt):
                raise interrupt from None
            finally:
                self.cancelled_by = None
            # Set the error even if the cell caught the cancellation and reached its end.
            result.error_in_exec = interrupt
            return result


def _show_page(text, start=0, screen_lines=0, pager_cmd=None):
    """Prints the text that IPython would page."""
    if isinstance(text, dict):
        text = text.get("text/plain", "")
    print(plain("\n".join(text.split("\n")[max(0, start) :])))


class _Later:
    """Stands for the database of `%store` until its first use: opening it creates a folder in the profile."""

    def __init__(self, path):
        self.path = path


if hasattr(interactiveshell, "PickleShareDB"):
    # IPython before 9.13 opens it at the start.
    _open_store = interactiveshell.PickleShareDB
    interactiveshell.PickleShareDB = _Later

    def _db(shell):
        if isinstance(shell._store, _Later):
            shell._store = _open_store(shell._store.path)
        return shell._store

    RunnerShell.db = property(_db, lambda shell, store: setattr(shell, "_store", store))


def make(session):
    """Makes the shell of this session, in its namespace, with the settings of the user's profile. Also returns the
    problems of those settings."""
    folder = ipython_profile.ipython_dir()
    profile = ipython_profile.profile(folder)
    settings, problems = ipython_profile.settings(profile.location)
    shell = RunnerShell.instance(
        session=session,
        config=settings,
        ipython_dir=folder,
        profile_dir=profile,
        user_module=sys.modules["__main__"],
        user_ns=session.namespace,
    )
    return shell, problems


# Users' code checks for this name to learn whether it runs in a notebook, and it does.  Configuration files use the
# same name for their section.
RunnerShell.__name__ = RunnerShell.__qualname__ = "ZMQInteractiveShell"
