"""The session: the user's namespace, what was run, and everything that is reported about it.

Owns the order of reports: what was written before a display, a result or the end of a cell has been
handed over before it. It must not know how the process was started.
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

# The names of a longer cell are not looked for: it is data, or made by a program.
_MAX_NAMED = 200_000

_BUILTINS = builtins.__dict__

_NO_CELL = '"id":null'

_BINARY = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")


def _text_form(kind, value):
    """A text, or the bytes it stands for where its kind is one of bytes; what is no base64 stays text."""
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
    """Fields and payload of a text; most results are one."""
    raw = encode(text)
    return f'"parts":[["text/plain","t",{len(raw)}]],"metadata":""', (raw,)


class StdinNotImplementedError(RuntimeError):
    """Raised where code wants input and nobody can give it; IPython's kernel raises the same name."""


class Session:
    # What every cell touches. Python finds up to thirty attributes of an object quickly, and a session has more.
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
        # The interpreter's own IPython, where it runs the cells.
        self.hosted = None
        # The cell that runs, and what every report begins with.
        self.running, self._tag = None, _NO_CELL
        # It was made ahead of time, in an environment that is known.
        self.is_prepared = False
        self.environment = None
        # What was written has been handed over, and no user code has run since.
        self.is_flushed = False
        # Whoever runs the cell answers when it asks for a line.
        self.may_ask = False
        # Whoever runs the cell wants to know which names it uses and makes; its tree, once there is one.
        self.wants_names, self.tree = False, None
        # Which object the last expression of a cell gave: what it gives tells whether it was called for an effect.
        self.returned = None
        # The host has been told that cells may come.
        self.is_ready = False
        self.capturing = []
        # Threads that are the runner's, in the words of `_thread._count`.
        self.own_threads = 2
        # The number that the system has for the one that writes output out.
        self.flusher = 0
        self.has_copies = False
        self.wires = ()
        self.interrupt = Interrupt(channel)
        self.streams = Streams(self)
        self.descriptors = None
        self.executor = Executor(self)
        self._set_up_namespace()

    def connect(self, fd):
        """Takes its place in this process. It may have been made in another, of which this is a copy."""
        self.channel.fd, self.channel.pid = fd, os.getpid()
        self.interrupt.rearm()
        if self.descriptors is None:
            # What is held back belongs to this process alone; a copy would write it again.
            os.register_at_fork(before=self.streams.flush)
        self.descriptors = Descriptors()

    # Reports.

    def send_stream(self, name, data):
        """Bytes of a stream: to whoever captures, else to the host."""
        if self.capturing:
            self.capturing[-1].stream(name, bytes(data))
            return
        self.channel.send("stream", f'{self._tag},"name":"{name}"', (data,))

    def flush(self):
        """Hands over what Python and C hold back, so that what follows comes after it."""
        streams = self.streams
        streams.is_sound = False
        # A thread of the user's may come here, too, and end its flush after the cell.
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
        """Shows something."""
        # An update changes what was displayed before, also where an `Output` captures.
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
        """What a widget says."""
        self.channel.send("comm", f'{self._tag},"name":"{kind}","parts":{to_json(parts)}', payload)

    def status(self, op, **fields):
        """Tells what a helper did, for whoever watches."""
        self.display({"application/x-omp-status": dict(op=op, **fields)}, {})

    def read_line(self, prompt, password):
        """A line from whoever runs the cell. Where nobody can type, says so at once instead of waiting."""
        self.flush()
        if self.may_ask:
            from .asking import can_ask, wait_for_line

            # Another thread could not take the answer from under the one that reads commands.
            if can_ask(self):
                return wait_for_line(self, prompt, password)
        # Before the first cell nobody is told but who asked: the start fails of it, or goes on.
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
        """A context in which output is collected instead of sent."""
        from .capture import Capture

        return Capture(self)

    # The user's namespace.

    def _set_up_namespace(self):
        namespace = self.namespace
        # What started the process is no name of the user's.
        for name in [name for name in namespace if not name.startswith("__")]:
            del namespace[name]
        namespace["__name__"] = "__main__"
        namespace["__builtins__"] = builtins
        # As IPython has it; programs print it.
        namespace["__doc__"] = "Automatically created module for IPython interactive environment"
        for name, value in (("In", self.history), ("Out", self.outputs), ("_oh", self.outputs), ("_ih", self.history)):
            namespace[name] = value
        namespace["_dh"] = []
        for name in ("_", "__", "___", "_i", "_ii", "_iii"):
            namespace[name] = ""
        # The last three values, and what of them `_`, `__` and `___` were given.
        self._last = self._given = ("", "", "")
        self._initial = set(namespace) | {"get_ipython", "exit", "quit"}
        builtins.input = lambda prompt="": self.read_line(prompt, False)
        builtins.display = self._display_function
        builtins.get_ipython = lambda: self.shell

    @property
    def shell(self):
        """What `get_ipython()` returns; made when it is first asked for."""
        if self.shell_object is None:
            from .shell import Shell

            self.shell_object = Shell(self)
        return self.shell_object

    @staticmethod
    def _display_function(*objects, **options):
        from .displays import display

        return display(*objects, **options)

    def reset_namespace(self):
        """Forgets what the user defined."""
        for name in [name for name in self.namespace if name not in self._initial]:
            del self.namespace[name]
        # Helpers come back by installing them; a name of theirs that the user took is gone already.
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
            # What `%who` leaves out unless the user gave the name another meaning.
            self.hidden = {name: self.namespace[name] for name in prelude.installed(self.namespace)}

    def set_prelude(self, level):
        """Makes these the helpers there are. A session that was made ahead of time has them all."""
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
            # Where the session begins.
            folders.append(path)
        if path in sys.path:
            sys.path.remove(path)
        sys.path.insert(0, path)

    def run_source(self, code, *, filename=None, shows=True):
        """Runs code by the rules of a cell, without a number of its own; gives the last value shown."""
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
        """Runs one request from its start to its end; never raises."""
        self.interrupt.keep()
        self.running = cell = request["id"]
        self._tag = f'"id":{cell}'
        # The host says only what is so.
        silent = "silent" in request
        self.may_ask = "asks" in request
        self.wants_names = "names" in request and len(request["code"]) <= _MAX_NAMED
        self.tree = self.returned = None
        number = self.count + 1
        self.streams.install()
        error = None
        if "env" in request or "cwd" in request:
            self._apply(request)
        # Before anything that an interrupt may end: the host knows no end of a cell that never began.
        self.channel.send("started", f'{self._tag},"count":{"null" if silent else number}')
        try:
            error = self._run(request["code"], number, silent)
        except BaseException as problem:
            # An interrupt came between the cell and its end, or what follows a cell failed; the cell did not end well all
            # the same.
            error = problem
        self.interrupt.ignore()
        if getpid() != self.channel.pid:
            self._leave(error)
        self._finish(error)

    def _leave(self, error):
        """A copy that the cell forked ends where the cell does, as it would at the end of a script."""
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
                # The folder is gone; the cell will say so when it needs it.
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
        # A warning is shown once in each cell.
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
        # Where nothing can be opened or imported any more, there is always Python's own text.
        text = repr(value) if formatting is None else formatting.simple(value)
        data = metadata = None
        if text is None and not formatting.own_display(value):
            data, metadata = formatting.bundle(value)
        # No name here may hold an older value: what it says when it goes must come before the flush.
        self._last = (value, *self._last[:2])
        # As IPython: a `_` that the user assigned is left alone.
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
        # Last, so that nothing of the user's runs after it: what was there before may go with a word.
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
        # The end of the cell follows at once, unless something takes its time; then the flusher sends it.
        self.channel.hold(f'{self._tag},"count":{number},{fields}', payload)

    def _describe(self, error):
        """Class, message, coloured lines, plain lines. Whatever fails on the way, the error is described."""
        try:
            if self.hosted is not None:
                return self.hosted.describe(error)
            from .tracebacks import describe

            return describe(error, self)
        except BaseException:
            name, value, text = bare(error, self.executor.sources)
            return name, value, [text], [text]

    def _names(self):
        """What the cell uses and makes, as a field of its last frame; nothing where that is not known."""
        tree, self.tree, self.wants_names = self.tree, None, False
        try:
            from .names import find

            found = None if tree is None else find(tree, self, self.returned)
            return "" if found is None else ',"names":' + to_json(found)
        except BaseException:
            # Nothing can be imported any more, or an interrupt came late; how the cell ended is not concerned.
            return ""

    def _end_captures(self):
        """A widget that captures what belongs to a cell has no more to come."""
        for capture in [one for one in self.capturing if hasattr(one, "set")]:
            try:
                capture.set(False)
            except BaseException:
                # The widget runs code of others here, and the cell is over.
                pass
        self.is_flushed = False
        self.capturing.clear()

    def _finish(self, error):
        """Reports the end. An error that cannot be sent ends the process: it must never pass for success."""
        if self.capturing:
            self._end_captures()
        if not self.is_flushed:
            try:
                self.flush()
            except BaseException as problem:
                # What user code put in the place of a stream.
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
        # For the next cell, while the host is busy with this one.
        self.descriptors.restore()


# Known when the first value is shown; asking for it by an import would take longer than most values do.
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
    """Pushes out what C code holds in its own buffers; `_ctypes` alone is quick to load."""
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
            # Nothing can be opened now, or the table of modules is none.
            return
    _flush_all()


_modules_seen = 0


def _c_may_write():
    """Whether any C code is loaded that is not Python's own; `_ctypes` itself may be ours."""
    global _modules_seen
    modules = sys.modules
    _modules_seen = len(modules)
    return "ctypes" in modules or any(map(_is_foreign, list(modules.values())))


def _is_foreign(module):
    try:
        # Past what a module may do when it is asked for an attribute.
        file = object.__getattribute__(module, "__dict__").get("__file__")
    except Exception:
        return False
    return type(file) is str and file.endswith((".so", ".pyd")) and "lib-dynload" not in file


def make(control_fd):
    """The session of this process, in its `__main__`."""
    import __main__

    return Session(Channel(control_fd), __main__.__dict__)
