"""The result of `get_ipython()`: the part of IPython's shell that notebooks call.

Owns the lookup of magics, the expansion of variables in their lines, events and the attributes that users' code
reads. It must not know the effect of any magic (see `magics/`), nor how cells run or output is sent: it asks
the session for those.
"""

import sys

from . import magics
from .frontend import Kernel
from .magics.events import Events, ExecutionInfo, ExecutionResult


class UsageError(Exception):
    """A magic was used wrongly; shown as one line, without a traceback."""


class Settings(dict):
    """A configuration in which any section exists: `config.InlineBackend.rc = {}`."""

    def __getattr__(self, name):
        if name in self:
            return self[name]
        if name[:1].isupper():
            self[name] = section = Settings()
            return section
        raise AttributeError(name)

    def __setattr__(self, name, value):
        self[name] = value


class Shell:
    """The interactive shell, as users' code sees it."""

    def __init__(self, session):
        self.session = session
        self.events = Events(self)
        self.magics_manager = magics.MagicsTable(self)
        self.ast_node_interactivity = "last_expr"
        self.ast_transformers = []
        self.input_transformers_cleanup = []
        self.input_transformers_post = []
        self.configurables = []
        self.custom_exceptions = ()
        self.loaded_extensions = []
        self.autoawait = True
        self.autocall = 0
        self.kernel = Kernel(self)
        self.colors = "NoColor"
        self.xmode = "Context"
        self._settings = Settings()

    # Display. Its modules load when a cell first shows something rich.

    @property
    def display_pub(self):
        from . import displays

        return displays.display_pub

    @display_pub.setter
    def display_pub(self, publisher):
        # IPython's `capture_output` replaces the publisher for a while.
        from . import displays

        displays.display_pub = publisher

    @property
    def display_formatter(self):
        from .formatting import display_formatter

        return display_formatter

    # Names.

    @property
    def user_ns(self):
        return self.session.namespace

    user_global_ns = user_ns

    @property
    def user_module(self):
        return sys.modules["__main__"]

    @property
    def user_ns_hidden(self):
        """The names that are not the user's own, for `%who`."""
        return getattr(self.session, "hidden", ())

    @property
    def execution_count(self):
        return self.session.count

    @property
    def config(self):
        # IPython's own `Magics` passes a shell that has a configuration to traitlets as a parent, and traitlets
        # accepts only IPython's shell there. Without a configuration it takes any shell.
        if sys._getframe(1).f_globals.get("__name__") == "IPython.core.magic":
            raise AttributeError("config")
        # Extensions built on traitlets require the class from traitlets.
        if "traitlets.config" in sys.modules and type(self._settings) is Settings:
            self._settings = sys.modules["traitlets.config"].Config(self._settings)
        return self._settings

    def get_ipython(self):
        return self

    def push(self, variables, interactive=True):
        """Adds names: a dict, or names looked up in the caller's frame."""
        if not isinstance(variables, dict):
            names = variables.split() if isinstance(variables, str) else variables
            frame = sys._getframe(1)
            variables = {name: eval(name, frame.f_globals, frame.f_locals) for name in names}
        self.user_ns.update(variables)

    def drop_by_id(self, variables):
        for name, value in variables.items():
            if self.user_ns.get(name, self) is value:
                del self.user_ns[name]

    def del_var(self, varname, by_name=False):
        if varname in ("__builtin__", "__builtins__"):
            raise ValueError("Refusing to delete %s" % varname)
        if varname not in self.user_ns:
            raise NameError("name '%s' is not defined" % varname)
        value = self.user_ns.pop(varname)
        if not by_name:
            for name in [name for name, other in self.user_ns.items() if other is value]:
                del self.user_ns[name]

    # Code.

    def transform_cell(self, raw_cell):
        from .transform import transform

        source = self._through(self.input_transformers_cleanup, raw_cell)
        return self._through(self.input_transformers_post, transform(source))

    @staticmethod
    def _through(transformers, source):
        if transformers:
            lines = source.splitlines(keepends=True)
            for function in transformers:
                lines = function(lines)
            source = "".join(lines)
        return source

    @property
    def input_transformer_manager(self):
        return self

    def run_cell(self, raw_cell, store_history=False, silent=False, shell_futures=True, cell_id=None):
        """Runs code by the rules of a cell; shows an exception and stores it in the result."""
        result = ExecutionResult(ExecutionInfo(raw_cell, store_history, silent), self.execution_count)
        try:
            result.result = self.session.run_source(raw_cell)
        except SyntaxError as error:
            result.error_before_exec = error
            self.showtraceback()
        except (Exception, SystemExit) as error:
            result.error_in_exec = error
            self.showtraceback()
        finally:
            self.session.show_figures()
        return result

    def run_code(self, code_obj, result=None, *, async_=False):
        """Runs compiled code or source; returns whether it failed."""
        try:
            exec(code_obj, self.user_ns)
        except Exception as error:
            if result is not None:
                result.error_in_exec = error
            self.showtraceback()
            return True
        return False

    def ev(self, expr):
        return self.session.eval(expr)

    def ex(self, cmd):
        exec(cmd, self.user_ns)

    def set_custom_exc(self, exc_tuple, handler):
        """Accepted; the host still reports failing cells."""
        self.custom_exceptions = exc_tuple
        self.CustomTB = handler

    def showtraceback(self, *args, **kwargs):
        """Writes the exception being handled to standard error."""
        error = sys.exc_info()[1]
        if error is None:
            print("No traceback available to show.", file=sys.stderr)
            return
        if isinstance(error, UsageError):
            print("UsageError: %s" % error, file=sys.stderr)
            return
        try:
            from .tracebacks import describe

            lines = describe(error, self.session)[3]
        except Exception:
            import traceback

            lines = traceback.format_exception(type(error), error, error.__traceback__)
        print("\n".join(lines).rstrip("\n"), file=sys.stderr)

    showsyntaxerror = showtraceback

    def show_usage(self):
        from .help import USAGE

        print(USAGE)

    def set_next_input(self, text, replace=False):
        """Accepted; a cell that runs here has no next cell to fill."""

    # Magics.

    def find_magic(self, magic_name, magic_kind="line"):
        return self.magics_manager.magics[magic_kind].get(magic_name)

    def find_line_magic(self, magic_name):
        return self.find_magic(magic_name, "line")

    def find_cell_magic(self, magic_name):
        return self.find_magic(magic_name, "cell")

    def run_line_magic(self, magic_name, line, _stack_depth=1):
        function = self.find_line_magic(magic_name)
        if function is None:
            text = "Line magic function `%%%s` not found" % magic_name
            if self.find_cell_magic(magic_name) is not None:
                text += " (But cell magic `%%%%%s` exists, did you mean that instead?)" % magic_name
            raise UsageError(text + ".")
        return self._call(function, line, (), sys._getframe(_stack_depth))

    def run_cell_magic(self, magic_name, line, cell):
        function = self.find_cell_magic(magic_name)
        hint = self.find_line_magic(magic_name)
        if function is None:
            text = "Cell magic `%%%%%s` not found" % magic_name
            if hint is not None:
                text += " (But line magic `%%%s` exists, did you mean that instead?)" % magic_name
            raise UsageError(text + ".")
        if cell == "":
            text = "%%%%%s is a cell magic, but the cell body is empty." % magic_name
            if hint is not None:
                text += " Did you mean the line magic %%%s (single %%)?" % magic_name
            raise UsageError(text)
        return self._call(function, line, (cell,), sys._getframe(1))

    def _call(self, function, line, rest, frame):
        if not getattr(function, "_ipython_magic_no_var_expand", False):
            line = self._expanded(line, frame)
        if getattr(function, "needs_local_scope", False):
            return function(line, *rest, local_ns=frame.f_locals)
        return function(line, *rest)

    def magic(self, arg_s):
        """The old spelling: `magic("time x")`."""
        name, _, line = arg_s.lstrip("%").partition(" ")
        return self.run_line_magic(name, line.lstrip(), _stack_depth=2)

    def register_magic_function(self, func, magic_kind="line", magic_name=None):
        self.magics_manager.register_function(func, magic_kind, magic_name)

    def register_magics(self, *objects):
        self.magics_manager.register(*objects)

    def _expanded(self, text, frame):
        if "$" not in text and "{" not in text:
            return text
        from .magics.expand import expand

        return expand(text, dict(self.user_ns, **frame.f_locals))

    def var_expand(self, cmd, depth=0, formatter=None):
        return self._expanded(cmd, sys._getframe(depth + 1))

    # Shell lines.

    def system(self, cmd):
        """Runs a command and shows its output at once; leaves the exit code in `_exit_code`."""
        from .magics.process import system

        self.user_ns["_exit_code"] = system(self.session, self._expanded(cmd, sys._getframe(1)))

    system_raw = system_piped = system

    def getoutput(self, cmd, split=True, depth=0):
        """The output of a command, as lines or as text."""
        from .magics.process import getoutput

        lines = getoutput(self._expanded(cmd, sys._getframe(depth + 1)))
        self.user_ns["_exit_code"] = lines.returncode
        return lines if split else lines.n

    # Figures.

    def enable_matplotlib(self, gui=None):
        self.run_line_magic("matplotlib", gui or "inline")
        return "inline", "module://inkcell_runner.figures"

    def enable_gui(self, gui=None):
        """Accepted; there is no window system here."""


# Users' code compares this name to learn whether it runs in a notebook, and it does.
Shell.__name__ = Shell.__qualname__ = "ZMQInteractiveShell"
