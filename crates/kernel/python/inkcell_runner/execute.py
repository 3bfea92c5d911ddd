"""Running one cell: compile, run, show the last value.

Owns what IPython's users expect of a cell: the last expression is shown, a semicolon hides it,
`await` works at the top level on one loop, and a cell's lines are there for tracebacks. Also the shortest
description of an error, which needs nothing that would have to be opened or imported first.
"""

import _ast
import sys

_TOP_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, spelled out to spare the import.
_ONLY_AST = 0x0400  # ast.PyCF_ONLY_AST
_COROUTINE = 0x0080  # inspect.CO_COROUTINE
_FUTURES = 0x1FF0000  # All `from __future__` flags of the supported versions lie in these bits.


class Compiler:
    """Turns cells into code, remembering `from __future__` from cell to cell."""

    def __init__(self):
        self.flags = _TOP_AWAIT

    def tree(self, source, filename):
        return compile(source, filename, "exec", self.flags | _ONLY_AST, True)

    def code(self, tree, filename, mode):
        code = compile(tree, filename, mode, self.flags, True)
        self.flags |= code.co_flags & _FUTURES
        return code


def split(tree, interactivity):
    """The statements to run and those whose value is shown, as IPython's setting says."""
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


class Loop:
    """The one event loop of the kernel, made when the first cell awaits."""

    def __init__(self):
        self._loop = None

    def current(self):
        import asyncio

        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop

    def run(self, coroutine):
        """Runs to the end. An interrupt cancels the task, not the loop."""
        import asyncio

        task = self.current().create_task(coroutine)
        try:
            return self._loop.run_until_complete(task)
        except KeyboardInterrupt as interrupt:
            if not task.done():
                # It came while the loop waited; what it interrupted is where the user's code waits.
                interrupt.__traceback__ = _awaiting(coroutine, type(interrupt.__traceback__))
                task.cancel()
                try:
                    self._loop.run_until_complete(task)
                except (asyncio.CancelledError, KeyboardInterrupt):
                    pass
            # By name: before 3.11 a bare `raise` would put the old traceback back.
            raise interrupt


# Further down nobody reads.
_MAX_AWAITS = 1000


def _awaiting(coroutine, kind):
    """A traceback, of this class, down to where a coroutine waits."""
    frames = []
    while len(frames) < _MAX_AWAITS:
        for prefix in ("cr_", "gi_", "ag_"):
            frame = getattr(coroutine, prefix + "frame", None)
            if frame is not None:
                break
        else:
            break
        frames.append((frame, frame.f_lasti, frame.f_lineno))
        coroutine = getattr(coroutine, "gi_yieldfrom" if prefix == "gi_" else prefix + "await", None)
    traceback = None
    for frame, last, line in reversed(frames):
        traceback = kind(traceback, frame, last, line)
    return traceback


def bare(error, sources):
    """Class and message of an error, and the lines of cells it came through, as one text."""
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
    """What `linecache` keeps of a file: its lines, each with its end."""
    lines = [source + "\n"] if "\n" not in source else [line + "\n" for line in source.split("\n")]
    return len(source), None, lines, filename


# Longer cells are seldom one expression.
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
        """Runs a cell; `show(value)` is called with each value to be shown. Raises what it raises."""
        if (
            len(source) <= _SHORT
            and "\n" not in source
            and "=" not in source
            and self._run_expression(source, filename, show)
        ):
            return
        tree, source = self._parse(source, filename)
        self._remember(filename, source)
        plain, shown = split(tree, self._interactivity())
        if shown and is_hidden(source):
            plain, shown = plain + shown, []
        if plain:
            module = _ast.Module(body=plain, type_ignores=[])
            self._execute(self.compiler.code(module, filename, "exec"))
        for node in shown:
            if isinstance(node, _ast.Expr):
                expression = _ast.Expression(body=node.value)
                value = self._execute(self.compiler.code(expression, filename, "eval"))
                if value is not None:
                    show(value)
            else:
                module = _ast.Module(body=[node], type_ignores=[])
                self._execute(self.compiler.code(module, filename, "exec"))

    def _run_expression(self, source, filename, show):
        """Runs a cell that is one short expression, without the detour over its tree; False for others."""
        session = self._session
        if session.shell_object is not None or "IPython.core.interactiveshell" in sys.modules:
            if self._interactivity() != "last_expr":
                return False
        try:
            # It cannot ask for anything from `__future__`.
            code = compile(source, filename, "eval", self.compiler.flags, True)
        except (SyntaxError, ValueError):
            return False
        self._remember(filename, source)
        if code.co_flags & _COROUTINE:
            value = self._execute(code)
        else:
            session.is_flushed = False
            value = eval(code, session.namespace)
        if value is not None:
            show(value)
        return True

    def _interactivity(self):
        """Which values are shown; also where the setting was made on IPython's own class."""
        module = sys.modules.get("IPython.core.interactiveshell")
        if module is not None:
            real = getattr(module, "InteractiveShell", None)
            chosen = vars(real).get("ast_node_interactivity") if real is not None else None
            if isinstance(chosen, str):
                return chosen
        shell = self._session.shell_object
        return shell.ast_node_interactivity if shell is not None else "last_expr"

    def _parse(self, source, filename):
        # What is Python as it stands needs no look at magics, and most cells are. A pasted prompt is
        # Python by accident: an annotation.
        if not source.lstrip().startswith(("%%", "In [")):
            try:
                return self.compiler.tree(source, filename), source
            except SyntaxError:
                pass
            except ValueError:
                # A NUL in the source; the message comes from the second try.
                pass
        shell = self._session.shell
        source = shell.transform_cell(source)
        return self.compiler.tree(source, filename), source

    def _execute(self, code):
        session = self._session
        session.is_flushed = False
        namespace = session.namespace
        if code.co_flags & _COROUTINE:
            return self.loop.run(eval(code, namespace))
        return eval(code, namespace)

    def _remember(self, filename, source):
        self.sources[filename] = source
        linecache = sys.modules.get("linecache")
        if linecache is not None and not self._unpublished:
            # As most cells are.
            linecache.cache[filename] = _published(filename, source)
            return
        self._unpublished.append(filename)
        if linecache is not None or "inspect" in source or "getsource" in source:
            self._publish(self._unpublished)

    def name_of(self, source):
        """The file name of code that is no numbered cell: its own, so that its lines stay its own."""
        name = self._unnumbered.get(source)
        if name is None:
            name = self._unnumbered[source] = "<inkcell %d>" % (len(self._unnumbered) + 1)
        return name

    def publish_sources(self):
        """Lets tracebacks and `inspect` see the lines of all cells."""
        self._publish(self.sources)

    def _publish(self, filenames):
        import linecache

        for filename in filenames:
            if filename not in linecache.cache:
                linecache.cache[filename] = _published(filename, self.sources[filename])
        self._unpublished = []
