"""The session: the user's namespace, the history, and all reports about them.

Owns the order of reports: output written before a display, a result or the end of a cell is sent before it. It
must not know how the process was started.
"""

import builtins
import os
import sys
from _thread import get_ident
from os import getpid

from .channel import Channel, encode, to_json
from .execute import Executor, bare
from .interrupt import Interrupt, shielded
from .streams import Descriptors, Streams

# The runner does not look for names in a longer cell: such a cell holds data, or a program made it.
_MAX_NAMED = 200_000

_BUILTINS = builtins.__dict__

_NO_CELL = '"id":null'

_BINARY = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")


def _text_form(kind, value):
    """The value as text, or as bytes if its kind is binary; text that is not base64 stays text."""
    if kind in _BINARY:
        import base64

        try:
            return "b", base64.b64decode(value, validate=True)
        except ValueError:
            # Old notebooks broke base64 into lines.
            try:
                return "b", base64.b64decode("".join(value.split()), validate=True)
            except ValueError:
                pass
    return "t", encode(value)


def _plain_bundle(text):
    """Fields and payload of a text; most results consist of one text."""
    raw = encode(text)
    return f'"parts":[["text/plain","t",{len(raw)}]],"metadata":""', (raw,)


class StdinNotImplementedError(RuntimeError):
    """Raised if code asks for input and the caller cannot give it; IPython's kernel raises the same name."""


class Session:
    # The attributes that every cell touches. Python finds up to thirty attributes of an object quickly, and a
    # session has more.
    __slots__ = (
        "__dict__",
        "_given",
        "_last",
        "_tag",
        "capturing",
        "channel",
        "count",
        "descriptors",
        "executor",
        "history",
        "hosted",
        "interrupt",
        "is_flushed",
        "may_ask",
        "namespace",
        "outputs",
        "returned",
        "running",
        "shell_object",
        "streams",
        "tree",
        "wants_names",
    )

    def __init__(self, channel, namespace):
        self.channel = channel
        self.namespace = namespace
        self.count = 0
        self.history = [""]
        self.outputs = {}
        self.artifacts = None
        self.shell_object = None
        # The interpreter's own IPython, if it runs the cells.
        self.hosted = None
        # The running cell, and the start of every report.
        self.running, self._tag = None, _NO_CELL
        # Set if the session was made ahead of time, in a known environment.
        self.is_prepared = False
        self.environment = None
        # True if all output has been sent and no user code has run since.
        self.is_flushed = False
        # True if the caller answers when the cell asks for a line.
        self.may_ask = False
        # True if the caller wants the names that the cell uses and makes; then the tree of the cell, once it
        # exists.
        self.wants_names, self.tree = False, None
        # The id of the value of the last expression, which tells whether its call was made for an effect.
        self.returned = None
        # True once the runner has told the host that it accepts cells.
        self.is_ready = False
        self.capturing = []
        # The number of the runner's own threads, as `_thread._count` counts them.
        self.own_threads = 2
        # The system's thread ID of the thread that flushes output.
        self.flusher = 0
        self.has_copies = False
        self.wires = ()
        self.interrupt = Interrupt(channel)
        self.streams = Streams(self)
        self.descriptors = None
        self.executor = Executor(self)
        self._set_up_namespace()

    def connect(self, fd):
        """Connects the session to this process, which may be a copy of the process that made the session."""
        self.channel.fd, self.channel.pid = fd, os.getpid()
        self.interrupt.rearm()
        if self.descriptors is None:
            # Buffered output belongs to this process alone; a copy would write it again.
            os.register_at_fork(before=self.streams.flush)
        self.descriptors = Descriptors()

    # Reports.

    def send_stream(self, name, data):
        """Sends bytes of a stream to the active capture, else to the host."""
        if self.capturing:
            self.capturing[-1].stream(name, bytes(data))
            return
        self.channel.send("stream", f'{self._tag},"name":"{name}"', (data,))

    def flush(self):
        """Hands over the output that Python and C hold back, so that later reports come after it."""
        streams = self.streams
        streams.is_sound = False
        # A thread of the user may also call this, and may finish its flush after the cell.
        streams.is_sound = streams.flush() and get_ident() == self.channel.main
        _flush_c()

    def _bundle(self, data, metadata):
        if not metadata and len(data) == 1 and type(data.get("text/plain")) is str:
            return _plain_bundle(data["text/plain"])
        parts, payload = [], []
        for kind, value in data.items():
            if isinstance(value, (bytes, bytearray, memoryview)):
                form, raw = "b", bytes(value)
            elif isinstance(value, str):
                form, raw = _text_form(kind, value)
            else:
                import json

                form, raw = "j", json.dumps(value, default=repr).encode()
            parts.append([kind, form, len(raw)])
            payload.append(raw)
        if metadata:
            import json

            text = json.dumps(metadata, default=repr)
        else:
            text = ""
        return '"parts":%s,"metadata":%s' % (to_json(parts), to_json(text)), payload

    def display(self, data, metadata=None, *, display_id=None, update=False):
        """Sends a display to the active capture, else to the host."""
        # An update changes an earlier display, even while an `Output` captures.
        if self.capturing and not (update and hasattr(self.capturing[-1], "set")):
            self.capturing[-1].display(data, metadata or {}, display_id, update)
            return
        self.flush()
        fields, payload = self._bundle(data, metadata)
        if display_id is not None:
            fields += ',"display_id":' + to_json(str(display_id))
        if update:
            fields += ',"update":true'
        self.channel.send("display", self._tag + "," + fields, payload)

    def clear_output(self, wait=False):
        if self.capturing:
            self.capturing[-1].clear(wait)
            return
        self.flush()
        self.channel.send("clear", self._tag + ',"wait":' + to_json(bool(wait)))

    def send_comm(self, kind, parts, payload):
        """Sends a message of a widget."""
        self.channel.send("comm", f'{self._tag},"name":"{kind}","parts":{to_json(parts)}', payload)

    def status(self, op, **fields):
        """Reports the action of a helper to clients that follow the session."""
        self.display({"application/x-omp-status": dict(op=op, **fields)}, {})

    def read_line(self, prompt, password):
        """A line from the caller. If the caller cannot type, raises at once instead of waiting."""
        self.flush()
        if self.may_ask:
            from .asking import can_ask, wait_for_line

            # Another thread could not take the answer away from the thread that reads commands.
            if can_ask(self):
                return wait_for_line(self, prompt, password)
        # Before the first cell the host gets no request: only the code that asked sees the refusal, and the start
        # fails or goes on.
        elif self.is_ready:
            self.send_input_request(prompt, password)
        self.refuse_input(password)

    def send_input_request(self, prompt, password):
        fields = '"prompt":%s,"password":%s' % (to_json(str(prompt)), to_json(bool(password)))
        self.channel.send("input", self._tag + "," + fields)

    @staticmethod
    def refuse_input(password):
        asked = "getpass" if password else "raw_input"
        raise StdinNotImplementedError(
            "%s was called, but this frontend does not support input requests." % asked
        )

    def capture(self):
        """A context that collects output instead of sending it."""
        from .capture import Capture

        return Capture(self)

    # The user's namespace.

    def _set_up_namespace(self):
        namespace = self.namespace
        # These names come from the code that started the process.
        for name in [name for name in namespace if not name.startswith("__")]:
            del namespace[name]
        namespace["__name__"] = "__main__"
        namespace["__builtins__"] = builtins
        # The same text as in IPython; programs print it.
        namespace["__doc__"] = "Automatically created module for IPython interactive environment"
        for name, value in (("In", self.history), ("Out", self.outputs), ("_oh", self.outputs), ("_ih", self.history)):
            namespace[name] = value
        namespace["_dh"] = []
        for name in ("_", "__", "___", "_i", "_ii", "_iii"):
            namespace[name] = ""
        # The last three values, and the values that `_`, `__` and `___` got from them.
        self._last = self._given = ("", "", "")
        self._initial = set(namespace) | {"get_ipython", "exit", "quit"}
        builtins.input = lambda prompt="": self.read_line(prompt, False)
        builtins.display = self._display_function
        builtins.get_ipython = lambda: self.shell

    @property
    def shell(self):
        """The result of `get_ipython()`, made on first use."""
        if self.shell_object is None:
            from .shell import Shell

            self.shell_object = Shell(self)
        return self.shell_object

    @staticmethod
    def _display_function(*objects, **options):
        from .displays import display

        return display(*objects, **options)

    def reset_namespace(self):
        """Deletes the names that the user defined."""
        for name in [name for name in self.namespace if name not in self._initial]:
            del self.namespace[name]
        # Installing restores the helpers; a helper whose name the user took is gone already.
        self.outputs.clear()
        del self.history[1:]
        self.install_prelude()
        self.hidden = dict(self.namespace)

    prelude_level = "off"
    hidden = {}

    def install_prelude(self):
        if self.prelude_level != "off":
            from . import prelude

            prelude.install(self, self.prelude_level)
            # `%who` omits these, unless the user gave the name another value.
            self.hidden = {name: self.namespace[name] for name in prelude.installed(self.namespace)}

    def set_prelude(self, level):
        """Installs the helpers of this level only. A session made ahead of time has all of them."""
        if level == self.prelude_level:
            return
        if self.prelude_level != "off":
            from . import prelude

            for name in prelude.installed(self.namespace):
                del self.namespace[name]
        self.prelude_level = level
        self.install_prelude()

    def set_cwd(self, path):
        os.chdir(path)
        path = os.getcwd()
        folders = self.namespace.get("_dh")
        if folders == []:
            # The directory in which the session begins.
            folders.append(path)
        if path in sys.path:
            sys.path.remove(path)
        sys.path.insert(0, path)

    def run_source(self, code, *, filename=None, shows=True):
        """Runs code by the rules of a cell, but without a cell number; returns the last value shown."""
        last = []

        def show(value):
            last[:] = [value]
            if shows:
                self._show_display(value)

        self.executor.run(code, filename or self.executor.name_of(code), show)
        return last[0] if last else None

    def eval(self, code):
        return eval(code, self.namespace)

    def _show_display(self, value):
        from .displays import display

        display(value)

    # Running a cell.

    @shielded
    def run_cell(self, request):
        """Runs one request from start to end; never raises."""
        self.interrupt.keep()
        self.running = cell = request["id"]
        self._tag = f'"id":{cell}'
        # The host sends only flags that are set.
        silent = "silent" in request
        self.may_ask = "asks" in request
        self.wants_names = "names" in request and len(request["code"]) <= _MAX_NAMED
        self.tree = self.returned = None
        number = self.count + 1
        self.streams.install()
        error = None
        if "env" in request or "cwd" in request:
            self._apply(request)
        # Sent before an interrupt can end anything: the host would not understand the end of a cell that never
        # began.
        self.channel.send("started", f'{self._tag},"count":{"null" if silent else number}')
        try:
            error = self._run(request["code"], number, silent)
        except BaseException as problem:
            # An interrupt arrived between the cell and its end, or a step after the cell failed; either way the
            # cell did not end well.
            error = problem
        self.interrupt.ignore()
        if getpid() != self.channel.pid:
            self._leave(error)
        self._finish(error)

    def _leave(self, error):
        """Ends a process that the cell forked where the cell ends, as the end of a script would."""
        code = 1
        try:
            if error is None or isinstance(error, SystemExit):
                text, code = "", getattr(error, "code", None) or 0
                if not isinstance(code, int):
                    text, code = str(code), 1
            else:
                text = "\n".join(self._describe(error)[3])
            self.flush()
            if text:
                os.write(2, encode(text + "\n"))
        finally:
            os._exit(code & 0xFF)

    def _apply(self, request):
        for name, value in (request.get("env") or {}).items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if request.get("cwd"):
            try:
                self.set_cwd(request["cwd"])
            except OSError:
                # The directory does not exist any more; the cell fails when it needs it.
                pass

    def _run(self, code, number, silent):
        if self.hosted is not None:
            self.executor.loop.keep()
            error = self.hosted.run(code, silent)
            self.is_flushed = False
            return error
        if silent:
            filename = self.executor.name_of(code)
        else:
            self.count = number
            namespace, history = self.namespace, self.history
            namespace["_iii"], namespace["_ii"] = namespace.get("_ii", ""), namespace.get("_i", "")
            namespace["_i"], namespace[f"_i{number}"] = history[-1], code
            history.append(code)
            filename = f"<cell {number}>"
        shell = self.shell_object
        # Each cell shows a warning once.
        self.namespace.pop("__warningregistry__", None)
        self.executor.loop.keep()
        try:
            if shell is not None:
                self.interrupt.call_before(shell.events.trigger, "pre_execute")
                self.interrupt.call_before(shell.events.trigger, "pre_run_cell", None)
            self.executor.run(code, filename, (lambda value: None) if silent else self._show_result)
            return None
        except BaseException as error:
            return error
        finally:
            if shell is not None:
                self.is_flushed = False
                shell.events.trigger("post_execute")
                shell.events.trigger("post_run_cell", None)
            self.show_figures()

    def show_figures(self):
        try:
            if "matplotlib.pyplot" in sys.modules:
                self.is_flushed = False
                from .figures import show_open_figures

                show_open_figures(self)
        except Exception as problem:
            print("inkcell: figures could not be shown: %r" % (problem,), file=sys.stderr)

    def _show_result(self, value):
        number = self.count
        namespace = self.namespace
        formatting = _formatting or _load_formatting()
        # If nothing can be opened or imported any more, Python's own text still works.
        text = repr(value) if formatting is None else formatting.simple(value)
        data = metadata = None
        if text is None and not formatting.own_display(value):
            data, metadata = formatting.bundle(value)
        # No local name may keep an older value: the output of its destructor must come before the flush.
        self._last = (value, *self._last[:2])
        # As in IPython, a `_` that the user assigned stays.
        given = self._given
        if "_" not in _BUILTINS and (
            namespace.get("_", given[0]) is given[0]
            and namespace.get("__", given[1]) is given[1]
            and namespace.get("___", given[2]) is given[2]
        ):
            self._given = given = self._last
            namespace["_"], namespace["__"], namespace["___"] = given
        if value is not self.outputs:
            namespace[f"_{number}"] = value
            self.outputs[number] = value
        # Comes last, so that no user code runs after it: the destructor of an older value may write something.
        if text is not None:
            self._hold_result(number, *_plain_bundle(text))
        elif data is not None:
            self.send_result(number, data, metadata)

    def send_result(self, number, data, metadata):
        """Reports the value of a cell."""
        self._hold_result(number, *self._bundle(data, metadata))

    def _hold_result(self, number, fields, payload):
        self.flush()
        self.is_flushed = True
        # The end of the cell usually follows at once; if anything takes time, the flusher sends the result.
        self.channel.hold(f'{self._tag},"count":{number},{fields}', payload)

    def _describe(self, error):
        """Class, message, coloured lines, plain lines. If anything here fails, falls back to a bare description."""
        try:
            if self.hosted is not None:
                return self.hosted.describe(error)
            from .tracebacks import describe

            return describe(error, self)
        except BaseException:
            name, value, text = bare(error, self.executor.sources)
            return name, value, [text], [text]

    def _names(self):
        """The names that the cell uses and makes, as a field of its last frame; empty if unknown."""
        tree, self.tree, self.wants_names = self.tree, None, False
        try:
            from .names import find

            found = None if tree is None else find(tree, self, self.returned)
            return "" if found is None else ',"names":' + to_json(found)
        except BaseException:
            # Nothing can be imported any more, or an interrupt came late; this does not change how the cell ended.
            return ""

    def _end_captures(self):
        """Ends the captures of widgets, which cover only this cell."""
        for capture in [one for one in self.capturing if hasattr(one, "set")]:
            try:
                capture.set(False)
            except BaseException:
                # The widget runs foreign code here, and the cell is over.
                pass
        self.is_flushed = False
        self.capturing.clear()

    def _finish(self, error):
        """Reports the end. An error that cannot be sent ends the process: a failed cell must never look successful."""
        if self.capturing:
            self._end_captures()
        if not self.is_flushed:
            try:
                self.flush()
            except BaseException as problem:
                # An object that user code put in the place of a stream failed.
                error = problem if error is None else error
        if error is not None:
            name, value, coloured, plain = self._describe(error)
            self.streams.install()
            self.flush()
            self.channel.send(
                "error",
                self._tag
                + ',"ename":%s,"evalue":%s,"traceback":%s,"plain":%s'
                % (to_json(name), to_json(value), to_json(coloured), to_json(plain)),
            )
        self.channel.send("done", self._tag + self._names() if self.wants_names else self._tag)
        self.is_flushed = False
        self.running, self._tag = None, _NO_CELL
        # Prepares the next cell while the host is busy with this one.
        self.descriptors.restore()


# Set when a cell shows the first value; importing it each time would take longer than formatting most values.
_formatting = None


def _load_formatting():
    global _formatting
    try:
        from . import formatting

        _formatting = formatting
    except Exception:
        pass
    return _formatting


_flush_all = None


def _flush_c():
    """Flushes the buffers of C code; `_ctypes` alone loads quickly."""
    global _flush_all
    if _flush_all is None:
        try:
            if len(sys.modules) == _modules_seen or not _c_may_write():
                return
            import _ctypes

            address = _ctypes.dlsym(_ctypes.dlopen(None, 2), "fflush")
            _flush_all = lambda: _ctypes.call_function(address, (None,))  # noqa: E731
        except (ImportError, AttributeError):
            _flush_all = lambda: None  # noqa: E731
        except Exception:
            # Nothing can be opened now, or user code broke the table of modules.
            return
    _flush_all()


_modules_seen = 0


def _c_may_write():
    """Whether any C code is loaded apart from Python's own; `_ctypes` itself may come from the runner."""
    global _modules_seen
    modules = sys.modules
    _modules_seen = len(modules)
    return "ctypes" in modules or any(map(_is_foreign, list(modules.values())))


def _is_foreign(module):
    try:
        # Avoids the module's own attribute hooks.
        file = object.__getattribute__(module, "__dict__").get("__file__")
    except Exception:
        return False
    return type(file) is str and file.endswith((".so", ".pyd")) and "lib-dynload" not in file


def make(control_fd):
    """Makes the session of this process, in its `__main__`."""
    import __main__

    return Session(Channel(control_fd), __main__.__dict__)
