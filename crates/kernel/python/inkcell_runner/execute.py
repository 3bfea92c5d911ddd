"""Runs one cell: compiles it, runs it, shows its last value.

Owns the rules that IPython's users expect: the last expression is shown, a semicolon hides it, `await` works at the
top level on one loop, and tracebacks find the lines of a cell. Also owns the shortest description of an error, which
opens no file and imports no module.
"""

import _ast
import builtins
import sys

_TOP_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, spelled out to spare the import.
_ONLY_AST = 0x0400  # ast.PyCF_ONLY_AST
_COROUTINE = 0x0080  # inspect.CO_COROUTINE
_BUILTINS = builtins.__dict__
_FUTURES = 0x1FF0000  # All `from __future__` flags of the supported versions lie in these bits.


class Compiler:
    """Compiles cells and remembers `from __future__` from cell to cell."""

    def __init__(self):
        self.flags = _TOP_AWAIT

    def tree(self, source, filename):
        return compile(source, filename, "exec", self.flags | _ONLY_AST, True)

    def code(self, tree, filename, mode):
        code = compile(tree, filename, mode, self.flags, True)
        self.flags |= code.co_flags & _FUTURES
        return code


def split(tree, interactivity):
    """Splits a cell into the statements to run and those whose value is shown, according to IPython's setting."""
    body = tree.body
    if not body or interactivity == "none":
        return body, []
    if interactivity == "last_expr_or_assign" and isinstance(body[-1], (_ast.Assign, _ast.AnnAssign, _ast.AugAssign)):
        target = body[-1].targets[0] if isinstance(body[-1], _ast.Assign) else body[-1].target
        if isinstance(target, _ast.Name):
            name = _ast.Name(target.id, _ast.Load())
            shown = _ast.Expr(name)
            for node in (name, shown):
                node.lineno = node.end_lineno = body[-1].end_lineno
                node.col_offset = node.end_col_offset = 0
            return body, [shown]
    if interactivity == "all":
        return [], body
    if isinstance(body[-1], _ast.Expr):
        return body[:-1], body[-1:]
    return body, []


def is_hidden(source):
    """Whether the cell ends in a semicolon, not counting comments and blanks."""
    text = source.rstrip()
    if not text or ";" not in text:
        return False
    if text.endswith(";"):
        last = text.rsplit("\n", 1)[-1]
        if "#" not in last and '"' not in last and "'" not in last:
            return True
    import io
    import tokenize

    last = None
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.DEDENT, tokenize.INDENT)
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type not in skipped:
                last = token
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return False
    return last is not None and last.type == tokenize.OP and last.string == ";"


def _hide(value):
    """Receives a value and does not show it."""


class Loop:
    """The one event loop of the kernel, created when the first cell awaits."""

    def __init__(self):
        self._loop = None

    def existing(self):
        return self._loop

    def current(self):
        import asyncio

        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop

    def keep(self):
        """Makes sure that there is a loop: `asyncio.run` leaves none behind."""
        asyncio = sys.modules.get("asyncio")
        if asyncio is None:
            return
        if self._loop is None:
            # The import of asyncio came before the first cell.
            self.current()
        try:
            asyncio.get_event_loop()
        except RuntimeError:
            asyncio.set_event_loop(self.current())
        except Exception:
            # The user's settings turn a warning into an error.
            pass

    def run(self, coroutine):
        """Runs a coroutine to its end. An interrupt cancels the task, not the loop."""
        import asyncio

        task = self.current().create_task(coroutine)
        try:
            return self._loop.run_until_complete(task)
        except KeyboardInterrupt as interrupt:
            if not task.done():
                # The interrupt came while the loop waited. The traceback must show where the user's code waits.
                interrupt.__traceback__ = _awaiting(coroutine, type(interrupt.__traceback__))
                task.cancel()
                try:
                    self._loop.run_until_complete(task)
                except (asyncio.CancelledError, KeyboardInterrupt):
                    pass
            # Raise it by name: before 3.11 a bare `raise` would restore the old traceback.
            raise interrupt


# Users do not read further down than this.
_MAX_AWAITS = 1000


def _awaiting(coroutine, kind):
    """Builds a traceback of the class `kind` down to the line where a coroutine waits."""
    frames = []
    while len(frames) < _MAX_AWAITS:
        for prefix in ("cr_", "gi_", "ag_"):
            frame = getattr(coroutine, prefix + "frame", None)
            if frame is not None:
                break
        else:
            break
        if frame.f_globals is not globals():
            frames.append((frame, frame.f_lasti, frame.f_lineno))
        coroutine = getattr(coroutine, "gi_yieldfrom" if prefix == "gi_" else prefix + "await", None)
    traceback = None
    for frame, last, line in reversed(frames):
        traceback = kind(traceback, frame, last, line)
    return traceback


def _first_word(body):
    """The name that is the whole cell or that the cell calls. None if the cell is anything but one such expression."""
    if len(body) != 1 or not isinstance(body[0], _ast.Expr):
        return None
    value = body[0].value
    if isinstance(value, _ast.Call):
        value = value.func
    return value.id if isinstance(value, _ast.Name) else None


def bare(error, sources):
    """Returns class and message of an error, and both together with the lines of cells it came through."""
    name = type(error).__name__
    try:
        value = str(error)[:10_000]
    except BaseException as problem:
        value = "<no text: its __str__ raised %s>" % type(problem).__name__
    places, traceback = [], error.__traceback__
    while traceback is not None:
        filename, line = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        lines = sources[filename].split("\n") if filename in sources else ()
        if line is not None and 0 < line <= len(lines):
            cell = "Cell In[%s]" % filename[6:-1] if filename.startswith("<cell ") else "File " + filename
            places.append("%s, line %d\n----> %d %s\n" % (cell, line, line, lines[line - 1]))
        traceback = traceback.tb_next
    if len(places) > 10:
        places[5:-5] = ["[... skipping %d frames]\n" % (len(places) - 10)]
    return name, value, "%s\n%s: %s" % ("\n".join(places), name, value) if places else "%s: %s" % (name, value)


def _published(filename, source):
    """The entry that `linecache` keeps for a file: its lines, each with its line end."""
    lines = [source + "\n"] if "\n" not in source else [line + "\n" for line in source.split("\n")]
    return len(source), None, lines, filename


# Longer cells are seldom a single expression.
_SHORT = 80


class Executor:
    """Runs cells in the user's namespace."""

    def __init__(self, session):
        self._session = session
        self.compiler = Compiler()
        self.loop = Loop()
        self.sources = {}
        self._unpublished = []
        self._unnumbered = {}

    def run(self, source, filename, show):
        """Runs a cell and calls `show(value)` with each value to show. Raises the errors of the cell."""
        if (
            len(source) <= _SHORT
            and "\n" not in source
            and "=" not in source
            and not self._session.wants_names
            and self._run_expression(source, filename, show)
        ):
            return
        is_cell = self._session.wants_names and self._session.tree is None
        if is_cell:
            # A cell that is not valid Python uses and makes no names.
            self._session.tree = []
        tree, source = self._parse(source, filename)
        if is_cell:
            self._session.tree = tree
        plain, shown = split(tree, self._interactivity())
        if shown and is_hidden(source):
            show = _hide
        if "await" in source or "async" in source:
            codes = self._compiled(plain, shown, filename)
            if any(code.co_flags & _COROUTINE for code, _ in codes):
                # Run all of it on the loop: a statement before an `await` may need a running loop.
                self._session.is_flushed = False
                self.loop.run(self._run_awaiting(codes, show))
                return
        if plain:
            module = _ast.Module(body=plain, type_ignores=[])
            self._execute(self.compiler.code(module, filename, "exec"))
        for node in shown:
            if isinstance(node, _ast.Expr):
                expression = _ast.Expression(body=node.value)
                value = self._execute(self.compiler.code(expression, filename, "eval"))
                self._session.returned = id(value)
                if value is not None:
                    show(value)
            else:
                module = _ast.Module(body=[node], type_ignores=[])
                self._execute(self.compiler.code(module, filename, "exec"))

    def _compiled(self, plain, shown, filename):
        """Compiles a whole cell. Returns each piece of code together with whether its value is shown."""
        codes = []
        if plain:
            codes.append((self.compiler.code(_ast.Module(body=plain, type_ignores=[]), filename, "exec"), False))
        for node in shown:
            if isinstance(node, _ast.Expr):
                codes.append((self.compiler.code(_ast.Expression(body=node.value), filename, "eval"), True))
            else:
                codes.append((self.compiler.code(_ast.Module(body=[node], type_ignores=[]), filename, "exec"), False))
        return codes

    async def _run_awaiting(self, codes, show):
        for code, is_shown in codes:
            code = self._session.interrupt.begin(code)
            value = eval(code, self._session.namespace)
            if code.co_flags & _COROUTINE:
                value = await value
            if is_shown:
                self._session.returned = id(value)
                if value is not None:
                    show(value)

    def _run_expression(self, source, filename, show):
        """Runs a cell that is one short expression without parsing it into a tree first. False for any other cell."""
        session = self._session
        if session.shell_object is not None or "IPython.core.interactiveshell" in sys.modules:
            if self._interactivity() != "last_expr":
                return False
        # Remember the source before compiling, which may warn and show the line.
        self._remember(filename, source)
        try:
            # An expression cannot import from `__future__`.
            code = compile(source, filename, "eval", self.compiler.flags, True)
        except (SyntaxError, ValueError):
            return False
        if code.co_names and self._is_magic(code.co_names[0], source):
            return False
        if code.co_flags & _COROUTINE:
            value = self._execute(code)
        else:
            session.is_flushed = False
            value = eval(session.interrupt.begin(code), session.namespace)
        if value is not None:
            show(value)
        return True

    def _interactivity(self):
        """Which values are shown. Includes a setting that was made on IPython's own class."""
        module = sys.modules.get("IPython.core.interactiveshell")
        if module is not None:
            real = getattr(module, "InteractiveShell", None)
            chosen = vars(real).get("ast_node_interactivity") if real is not None else None
            if isinstance(chosen, str):
                return chosen
        shell = self._session.shell_object
        return shell.ast_node_interactivity if shell is not None else "last_expr"

    def _is_magic(self, name, source):
        """Whether valid Python is meant as a magic: `pwd`, `ls -l`, and `ls(1)` if no such name is defined."""
        session = self._session
        if name in session.namespace:
            if session.namespace[name] is not session.hidden.get(name, session):
                return False
        elif name in _BUILTINS:
            return False
        try:
            from . import automagic

            return automagic.find(session, source) is not None
        except Exception:
            # Imports fail in this process now, so the line counts as Python.
            return False

    def _parse(self, source, filename):
        # Valid Python needs no search for magics, and most cells are valid Python. A pasted prompt is valid only by
        # accident: it parses as an annotation.
        self._remember(filename, source)
        if not source.lstrip().startswith(("%%", "In [")):
            try:
                tree = self.compiler.tree(source, filename)
                word = _first_word(tree.body)
                if word is None or not self._is_magic(word, source):
                    return tree, source
            except SyntaxError:
                pass
            except ValueError:
                # A NUL in the source. The second try below raises the error with its message.
                pass
        shell = self._session.shell
        if "\n" not in source.strip():
            from . import automagic

            magic = automagic.find(self._session, source)
            if magic is not None:
                source = "%" + " ".join(magic).rstrip()
        source = shell.transform_cell(source)
        self._remember(filename, source)
        return self.compiler.tree(source, filename), source

    def _execute(self, code):
        session = self._session
        session.is_flushed = False
        namespace = session.namespace
        code = session.interrupt.begin(code)
        if code.co_flags & _COROUTINE:
            return self.loop.run(eval(code, namespace))
        return eval(code, namespace)

    def _remember(self, filename, source):
        self.sources[filename] = source
        linecache = sys.modules.get("linecache")
        if linecache is not None and not self._unpublished:
            # The usual case.
            linecache.cache[filename] = _published(filename, source)
            return
        self._unpublished.append(filename)
        if linecache is not None or "inspect" in source or "getsource" in source:
            self._publish(self._unpublished)

    def name_of(self, source):
        """Names the file of code that is not a numbered cell. A name of its own keeps its lines apart."""
        name = self._unnumbered.get(source)
        if name is None:
            name = self._unnumbered[source] = "<inkcell %d>" % (len(self._unnumbered) + 1)
        return name

    def publish_sources(self):
        """Lets tracebacks and `inspect` find the lines of all cells."""
        self._publish(self.sources)

    def _publish(self, filenames):
        import linecache

        for filename in filenames:
            if filename not in linecache.cache:
                linecache.cache[filename] = _published(filename, self.sources[filename])
        self._unpublished = []
