"""Adds inkcell's helpers, modules and answers to a Jupyter kernel of Python that is not inkcell's own.

Owns the connection of the two. It must not change how cells run: IPython runs them, and ipykernel reports them. Code
that the host sends silently calls everything here.
"""

import functools
import os
import sys
import types

from . import _set_current, guest_interrupts, guest_output

# The MIME type in which an answer travels.
ANSWER = "application/x-inkcell-answer"

# The message that tells the host of a refused `input()`. A kernel that refuses sends no message of its own.
INPUT_REFUSED = "inkcell_input_refused"

# The message that tells the host that the cell showed a traceback itself and goes on. That traceback looks like the
# one that ends a cell.
TRACEBACK_SHOWN = "inkcell_traceback_shown"

# The message that tells the host which names the cell uses and makes.
NAMES = "inkcell_names"

_session = None


class Guest:
    """The part of a session that helpers and questions need. IPython does the rest."""

    running = None
    shell_object = None
    prelude_level = "off"
    artifacts = None
    lifeline = None

    def __init__(self, shell):
        self.namespace = shell.user_ns
        self.capturing = []
        self.hidden = {}
        # Functions to call before and after every request.
        self.between = []
        # The watches that read the descriptors 1 and 2.
        self.watches = []
        self.interrupts = guest_interrupts.Interrupts()
        self.executor = types.SimpleNamespace(sources={})
        self.hosted = types.SimpleNamespace(shell=shell)
        self.shell_object = shell
        self.streams = {"stdout": sys.stdout, "stderr": sys.stderr}

    @property
    def shell(self):
        return self.hosted.shell

    def flush(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                # A cell replaced the stream with an object that cannot be flushed.
                pass

    def display(self, data, metadata=None, *, display_id=None, update=False):
        transient = {} if display_id is None else {"display_id": str(display_id)}
        self.shell.display_pub.publish(data, metadata or {}, transient=transient, update=update)

    def clear_output(self, wait=False):
        self.shell.display_pub.clear_output(wait)

    def status(self, op, **fields):
        self.display({"application/x-omp-status": dict(op=op, **fields)}, {})

    def capture(self):
        from IPython.utils.capture import capture_output

        return capture_output()


def prepare(shell, options):
    """Does the slow work that is the same for every session, for a kernel that waits for its session."""
    import json

    options = json.loads(options)
    _settle_in(shell, options)
    if options["prelude"] != "off":
        from . import displays, prelude  # noqa: F401
    _preload(options)


def begin(shell, options):
    """Sets the kernel up as the host asks, before its first cell. Raises if that fails."""
    import json

    options = json.loads(options)
    if _session is None:
        _settle_in(shell, options)
    session = _session
    os.environ.update(options.get("env") or {})
    # A kernel on another machine than the host may lack the host's folders.
    if options["cwd"] is not None:
        _go(options["cwd"])
    if not options.get("history", True) and shell.history_manager is not None:
        shell.history_manager.enabled = False
    # The kernel's own arguments would confuse `argparse`.
    del sys.argv[1:]
    if options["prelude"] != "off":
        from . import displays, ipython_helpers, prelude

        displays.display = _display
        session.prelude_level = options["prelude"]
        prelude.install(session, options["prelude"])
        session.hidden = {name: shell.user_ns[name] for name in prelude.installed(shell.user_ns)}
        ipython_helpers.install(shell, lambda: session)
    _preload(options)
    if options["modules"]:
        _load(session, options["modules"])
    # Names from before the first cell do not belong to the user; `%who` and questions leave them out.
    shell.user_ns_hidden.update(shell.user_ns)


def add_environment(given):
    """Gives the kernel the host's environment variables."""
    import json

    os.environ.update(json.loads(given))


def replace_environment(given):
    """Gives the kernel the host's environment variables, on a gateway that another host may have started. Removes the
    variables that the kernel inherited from the gateway, because they are that host's. Variables that the gateway
    added for the kernel stay."""
    # If the parent cannot be read, treat the kernel's own variables as inherited.
    for process in (os.environ.get("JPY_PARENT_PID", "self"), "self"):
        try:
            with open("/proc/%s/environ" % process, "rb") as file:
                inherited = os.fsdecode(file.read()).split("\0")
            break
        except OSError:
            inherited = []
    for variable in inherited:
        name, _, value = variable.partition("=")
        if os.environ.get(name) == value and not name.startswith("JPY_"):
            del os.environ[name]
    add_environment(given)


def _settle_in(shell, options):
    """Ties the kernel to its host, and changes its output and its interrupts as the host needs."""
    global _session
    _session = session = Guest(shell)
    _set_current(session)
    # A gateway holds its own kernels.
    if options.get("lifeline") is not None:
        _hold_on(session, options)
    _leave_by_error(shell)
    guest_output.keep(shell)
    guest_output.bound_wakes(shell)
    guest_output.see_off(session)
    for stream in session.streams.values():
        settle = guest_output.pace(stream)
        if settle is not None:
            session.between.append(settle)
        watch = guest_output.Watch.over(stream)
        if watch is not None:
            session.watches.append(watch)
    session.interrupts.take(shell, session.between)
    _tell_refusals(shell)
    _tell_tracebacks(shell)
    shell.events.register("pre_execute", _before_cell)
    shell.events.register("post_execute", _after_cell)
    shell.events.register("post_run_cell", _tell_names)


def _preload(options):
    for name in options["preload"]:
        try:
            __import__(name)
        except Exception:
            # The import only saves time. The cell that needs the module reports the error.
            pass


def _display(*objects, **options):
    from IPython.display import display

    return display(*objects, **options)


def _hold_on(session, options):
    """Ends the whole process group when the host ends, whatever the cell does."""
    from . import __main__ as runner

    lifeline, host = runner._move_high(options["lifeline"]), runner._move_high(options["host"])
    if runner.bind(lifeline, os.getpgrp()):
        runner._forget_parent()
    os.register_at_fork(after_in_child=lambda: runner._close(lifeline, host))
    session.lifeline = lifeline
    runner.start_thread(runner._watch, lifeline, host)


def _tell_refusals(shell):
    """Tells the host when code asks for a line and nobody can type one. The code may catch the refusal and go on as if
    it had a line. ipykernel's functions read one attribute first, which is replaced here. Replaced functions would
    show up in tracebacks."""
    kernel = getattr(shell, "kernel", None)
    if not hasattr(kernel, "_allow_stdin"):
        return
    kind = type(kernel)
    is_allowed = bool(kernel._allow_stdin)

    class Telling(kind):
        @property
        def _allow_stdin(self):
            if not is_allowed:
                _tell_refusal(self, sys._getframe(1))
            return is_allowed

        @_allow_stdin.setter
        def _allow_stdin(self, value):
            nonlocal is_allowed
            is_allowed = bool(value)

    Telling.__name__, Telling.__qualname__, Telling.__module__ = kind.__name__, kind.__qualname__, kind.__module__
    try:
        kernel.__class__ = Telling
    except TypeError:
        # A kernel with another object layout stays as it is.
        pass


def _tell_refusal(kernel, asking):
    name = asking.f_code.co_name
    if name not in ("raw_input", "getpass"):
        return
    try:
        _session.flush()
        told = {"prompt": str(asking.f_locals.get("prompt", "")), "password": name == "getpass"}
        kernel.session.send(kernel.iopub_socket, INPUT_REFUSED, told, parent=kernel.get_parent())
    except Exception:
        # The refusal itself is meant for the code. A prompt that cannot be shown must not raise a second error.
        pass


def _tell_tracebacks(shell):
    """Tells the host, right behind a traceback, that the cell showed it itself. The traceback then keeps its place
    among the outputs."""
    show = getattr(shell, "_showtraceback", None)
    if show is None:
        return

    @functools.wraps(show)
    def telling(*arguments, **named):
        show(*arguments, **named)
        # A result that cannot be shown fails its cell.
        if getattr(shell, "_last_traceback_during_displayhook", False) or not _is_cell_at_work(shell):
            return
        try:
            hook = shell.displayhook
            hook.session.send(hook.pub_socket, TRACEBACK_SHOWN, {}, hook.parent_header)
        except Exception:
            # Without this message the host shows the traceback at the end of the cell.
            pass

    shell._showtraceback = telling


def _is_cell_at_work(shell):
    """Whether user code is among the callers. IPython shows the error that ended a cell after the cell returns."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_globals is shell.user_global_ns:
            return True
        frame = frame.f_back
    return False


def _leave_by_error(shell):
    """Makes `exit` and `quit` end the cell with an error, because the kernel belongs to the host."""
    from IPython.core.autocall import ExitAutocall

    class Leave(ExitAutocall):
        def __call__(self, code=None, keep_kernel=False):
            raise SystemExit(code)

    leave = Leave(shell)
    for name in ("exit", "quit"):
        shell.user_ns[name] = leave
        shell.user_ns_hidden[name] = leave


def _load(session, modules):
    """Runs the user's own files. A file that ends the process cannot report its name, so the name is sent first."""
    from . import modules as loader

    said = _original_stderr()
    for name, path in modules:
        if said is not None:
            os.write(said, ("loading Python module %s\n" % path).encode("utf-8", "backslashreplace"))
        mark, loader._Mark = loader._Mark, _NoMark
        try:
            loader.load(session, [(name, path)])
        finally:
            loader._Mark = mark


class _NoMark:
    """Marks nothing: the kernel uses descriptor 2 itself."""

    def put(self, path):
        pass

    def take_back(self):
        pass


def _original_stderr():
    """The descriptor where the host reads text that is not output of cells."""
    copy = getattr(sys.stderr, "_original_stdstream_copy", None)
    return copy if isinstance(copy, int) else None


def _go(path):
    os.chdir(path)
    path = os.getcwd()
    if path in sys.path:
        sys.path.remove(path)
    sys.path.insert(0, path)


def _before_cell():
    """Applies the settings that travel with the request."""
    try:
        parent = _session.shell.kernel.get_parent()
        first = parent.get("metadata", {}).get("inkcell")
        may_ask = parent.get("content", {}).get("allow_stdin", False)
    except Exception:
        first, may_ask = None, False
    if first:
        _apply(first)
    _break_by_typing(may_ask)
    _session.interrupts.await_cell()


_hook_of_others = None


def _break_by_typing(may_ask):
    """Gives a cell whose user can type Python's own debugger. Where debugpy is installed, `breakpoint()` waits for
    debugpy's client, and does nothing without one."""
    global _hook_of_others
    hook = sys.breakpointhook
    if may_ask and str(getattr(hook, "__module__", "")).startswith(("debugpy", "pydevd")):
        _hook_of_others, sys.breakpointhook = hook, sys.__breakpointhook__
    elif not may_ask and _hook_of_others is not None and hook is sys.__breakpointhook__:
        sys.breakpointhook, _hook_of_others = _hook_of_others, None


def _apply(first):
    for name, value in (first.get("env") or {}).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if first.get("cwd"):
        try:
            _go(first["cwd"])
        except OSError:
            # The folder is gone; the cell will report that when it needs it.
            pass


def _after_cell():
    """Repairs what a cell broke, so that the kernel can report the end of the cell."""
    _session.interrupts.note()
    for name in ("stdout", "stderr"):
        if not callable(getattr(getattr(sys, name, None), "flush", None)):
            setattr(sys, name, _session.streams[name])
    from .session import _flush_c

    _flush_c()
    for watch in _session.watches:
        watch.take()


def _tell_names(result=None):
    """Tells the host which names the cell uses and makes, if the host asked for them."""
    try:
        kernel = _session.shell.kernel
        parent = kernel.get_parent()
        if not (parent.get("metadata", {}).get("inkcell") or {}).get("names"):
            return
        from .execute import is_hidden
        from .questions import names_of_run

        code, returned = parent["content"]["code"], None
        # IPython does not keep a value that a semicolon hides. Most cells with a semicolon end in such a value.
        if result is not None and result.success and not is_hidden(code):
            returned = id(result.result)
        found = names_of_run(_session, code, returned)
        if found is not None:
            kernel.session.send(kernel.iopub_socket, NAMES, found, parent=parent)
    except Exception:
        # The host then knows nothing about the cell, which is always correct.
        pass


class _Told:
    """An answer in a form that IPython passes on unread."""

    def __init__(self, text):
        self._text = text

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "", ANSWER: self._text}


def answer(question):
    """Answers a question of the host. Raises only for an interrupt."""
    import json

    from .questions import QuestionError
    from .questions import answer as find

    _session.interrupts.let_through()
    try:
        told = {"answer": find(_session, json.loads(question))}
    except QuestionError as problem:
        told = {"failed": str(problem)}
    except Exception as problem:
        told = {"failed": "The question could not be answered: %s" % type(problem).__name__}
    finally:
        _session.interrupts.note()
    from .channel import to_json

    return _Told(to_json(told))
