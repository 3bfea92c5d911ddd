"""The names a cell uses and makes, and the files it reads, so that the host can tell which cells are stale.

Owns what follows from the tree of a cell and from the namespace after the cell ran. It runs nothing, evaluates
nothing, and calls no method of the user's values. If it cannot decide, it raises `Unknown` and reports nothing.

`uses` holds names whose value comes from before the cell. `makes` holds names that the cell binds, deletes or
changes in place; a changed name is in both. `later` lists for each function or class of the cell the names that
its body uses and makes, which count for any cell that uses the function; a name that the body makes and does
not use is bound there. A name that is bound on only some paths counts as used too. Such names are in `own`: the
cell does not need them from before. `own` also has names that only bodies of its functions use, because these
may not have been called. `deletes` has names that the cell uses only to delete them.
"""

import _ast
import builtins
import os
import sys

from .scopes import (
    CHANGING,
    COMPREHENSIONS,
    ENVIRONMENT,
    FOLDER,
    FUNCTIONS,
    LOOKS_AT_ENVIRONMENT,
    LOOKS_AT_FOLDER,
    PATTERNS,
    SEES_ALL,
    SETS_ENVIRONMENT,
    SETS_FOLDER,
    Scope,
    Unknown,
    add_elements,
    base,
    children,
    effect,
    free,
    free_of_comprehension,
    holders,
    imported,
    is_environment,
    outside,
)

# A cell with more names was written by a program.
_MAX_NAMES = 2_000
_MAX_FILES = 50

# Values of these types cannot change in place.
_FIXED = (str, bytes, int, float, complex, bool, tuple, frozenset, type(None))

# Names whose meaning depends on the cells that ran before.
_RECENT = frozenset(("_", "__", "___", "_i", "_ii", "_iii", "In", "Out", "_oh", "_ih", "_dh"))

# Line magics that neither use nor make names.
_PLAIN_MAGICS = frozenset(
    "alias autoawait autocall autoreload automagic autosave bookmark clear colors conda config dirs gui history"
    " load_ext ls lsmagic magic matplotlib notebook pdb pip precision pwd pycat quickref reload_ext sx system"
    " tb unload_ext uv who whos xmode".split()
)

# Magics whose argument or body is code of this cell.
_CODE_MAGICS = frozenset(("time", "timeit", "prun", "capture", "debug", "memit", "mprun"))

# Magics that change the current directory, and magics that read it.
_FOLDER_MAGICS = frozenset(("cd", "popd", "pushd"))
_HERE_MAGICS = frozenset("dirs ls pwd pycat sx system".split())

# Cell magics whose body is not Python.
_TEXT_MAGICS = frozenset("bash html HTML javascript js latex markdown sh svg writefile".split())

_TRIES = tuple(getattr(_ast, name) for name in ("Try", "TryStar") if hasattr(_ast, name))
_MATCH = getattr(_ast, "Match", ())
_TYPE_ALIAS = getattr(_ast, "TypeAlias", ())


def find(tree, session, returned=None, is_to_come=False):
    """The names of a cell as a value for a frame, or None if unknown. `returned` is the id of the value of its
    last expression. If `is_to_come`, the cell has not run yet, and `absent` has the names that it needs on
    every path and that do not exist."""
    try:
        body = tree.body if isinstance(tree, _ast.Module) else list(tree)
        cell = _Cell(session, returned)
        cell.top(body)
        return cell.told(is_to_come)
    except Exception:
        # This includes a tree that is nested too deep. The caller gets no answer, which is never wrong.
        return None


class _Cell:
    """The names of a cell, collected in the order of its code."""

    def __init__(self, session, returned):
        self.session, self.returned = session, returned
        self.namespace = session.namespace
        self.uses, self.makes, self.later = {}, {}, {}
        # Names that the cell itself has certainly bound by now.
        self.bound = set()
        # Names that it binds on some path, names that only bodies of its functions use, and names that it needs
        # from before on every path.
        self.binds, self.indirect, self.needs = set(), set(), set()
        # The needed names that the cell uses before it may have bound them itself.
        self.requires = set()
        # Names that it deletes without reading them.
        self.deletes = set()
        # The number of branches and `try`s around the current statement: a name used there may stay unused.
        self.ways = 0
        # Whether this is the last statement, whose value the cell shows.
        self.is_last = False
        # Targets of loops, with the names that hold their elements.
        self.elements = {}
        self.files = {}

    # Names.

    def used(self, name):
        if name in _RECENT and name not in self.bound or name[:1] == "_" and name[1:].isdigit():
            raise Unknown
        if name not in self.bound:
            self.uses[name] = True
            self.deletes.discard(name)
            if not self.ways:
                self.needs.add(name)
                if name not in self.binds:
                    self.requires.add(name)
        self._used_later(name)

    def _used_later(self, name):
        """Marks the names used by the body of a function of this cell: the cell uses the function, so it may
        call it now."""
        todo, seen = [name], set()
        while todo:
            one = todo.pop()
            if one in seen:
                continue
            seen.add(one)
            if one != name and one not in self.bound:
                self.uses[one] = True
                self.indirect.add(one)
            if one in self.later:
                uses, makes = self.later[one]
                for made in makes:
                    self.makes[made] = True
                    if made not in uses:
                        self.set(made)
                todo.extend(uses)

    def set(self, name):
        """Notes that the cell may bind the name, and does not need its old value."""
        self.makes[name] = True
        self.binds.add(name)
        if name not in self.bound:
            self.uses[name] = True
        if name in (FOLDER, ENVIRONMENT):
            # Code that reads it afterwards finds the value set here.
            self.bound.add(name)

    def make(self, name):
        self.makes[name] = True
        self._bind(name)

    def _bind(self, name):
        self.bound.add(name)
        self.binds.add(name)
        # On another path the name may still be the old function.
        if not self.ways:
            self.later.pop(name, None)
        self.elements.pop(name, None)

    def change(self, name):
        self.used(name)
        self.makes[name] = True
        # A change of an element changes the name that holds it.
        for holder in self.elements.pop(name, ()):
            self.change(holder)

    def define(self, name, function):
        uses, makes = free(function, self.may_change)
        if isinstance(function, _ast.ClassDef):
            # A class also has the methods of its base classes.
            uses = uses | {base.id for base in function.bases if isinstance(base, _ast.Name)}
        self.make(name)
        if name in self.later:
            more_uses, more_makes = self.later[name]
            uses, makes = uses | more_uses, makes | more_makes
        self.later[name] = (uses, makes)

    # Statements.

    def top(self, body):
        for at, node in enumerate(body):
            self.statement(node, is_last=at == len(body) - 1)

    def body(self, nodes):
        for node in nodes:
            self.statement(node)

    def branches(self, ways):
        """Walks paths of which Python takes one; a name bound on only some of them may also come from before."""
        before, every, anywhere = self.bound, None, set()
        self.ways += 1
        for nodes in ways:
            self.bound = set(before)
            self.body(nodes)
            anywhere |= self.bound
            if not (nodes and isinstance(nodes[-1], (_ast.Raise, _ast.Continue, _ast.Break))):
                every = self.bound if every is None else every & self.bound
        self.ways -= 1
        self.bound = before if every is None else every
        for name in anywhere - self.bound:
            self.uses[name] = True

    def statement(self, node, is_last=False):
        kind = type(node)
        self.is_last = is_last
        if kind is _ast.Expr:
            self.expression_statement(node.value)
        elif kind is _ast.Assign:
            self.expression(node.value)
            for target in node.targets:
                self.bind(target)
                if isinstance(node.value, _ast.Lambda) and isinstance(target, _ast.Name):
                    self.define(target.id, node.value)
        elif kind is _ast.AugAssign:
            self.expression(node.value)
            if isinstance(node.target, _ast.Name):
                self.change(node.target.id)
                self.bound.add(node.target.id)
            else:
                self.bind(node.target)
        elif kind is _ast.AnnAssign:
            self.expression(node.annotation)
            if node.value is not None:
                self.expression(node.value)
                self.bind(node.target)
        elif kind in (_ast.Import, _ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    raise Unknown
                if kind is _ast.Import:
                    if "." in alias.name and alias.asname is None:
                        # The import adds a submodule to a module that may exist already.
                        self.set(imported(alias))
                    self.make(imported(alias))
                elif node.module != "__future__":
                    self.make(imported(alias))
        elif kind in (_ast.FunctionDef, _ast.AsyncFunctionDef):
            for part in outside(node):
                self.expression(part)
            self.define(node.name, node)
        elif kind is _ast.ClassDef:
            self.class_(node)
        elif kind in (_ast.For, _ast.AsyncFor):
            # Assume that a loop runs at least once, as nearly all loops do.
            self.expression(node.iter)
            self.bind(node.target)
            add_elements(node.target, holders(node.iter), self.elements)
            self.body(node.body)
            self.body(node.orelse)
        elif kind is _ast.While:
            self.expression(node.test)
            self.body(node.body)
            self.body(node.orelse)
        elif kind is _ast.If:
            self.expression(node.test)
            self.branches([node.body, node.orelse])
        elif kind in (_ast.With, _ast.AsyncWith):
            for item in node.items:
                self.expression(item.context_expr)
                if item.optional_vars is not None:
                    self.bind(item.optional_vars)
            self.body(node.body)
        elif kind in _TRIES:
            self.try_(node)
        elif _MATCH and kind is _MATCH:
            self.expression(node.subject)
            self.branches([[case] for case in node.cases] + [[]])
        elif kind.__name__ == "match_case":
            self.pattern(node.pattern)
            if node.guard is not None:
                self.expression(node.guard)
            self.body(node.body)
        elif kind is _ast.Delete:
            for target in node.targets:
                if isinstance(target, _ast.Name):
                    is_read = target.id in self.uses
                    self.change(target.id)
                    self.later.pop(target.id, None)
                    if not is_read:
                        self.deletes.add(target.id)
                else:
                    self.bind(target)
        elif _TYPE_ALIAS and kind is _TYPE_ALIAS:
            self.make(node.name.id)
        else:
            for child in children(node):
                self.expression(child)

    def class_(self, node):
        """The body of a class runs now, its methods run later; the result does not tell which of the two uses a
        name."""
        for part in outside(node):
            self.expression(part)
        at_once = Scope(self.may_change, True)
        for child in node.body:
            if not isinstance(child, FUNCTIONS):
                at_once.visit(child)
            else:
                for part in outside(child):
                    at_once.visit(part)
                at_once.stores.add(child.name)
        own = at_once.stores
        for name in at_once.loads - own:
            self.used(name)
        self.define(node.name, node)

    def try_(self, node):
        before = set(self.bound)
        # A handler may make up for any failure in the body.
        self.ways += bool(node.handlers)
        self.body(node.body)
        self.body(node.orelse)
        every, anywhere = self.bound, set(self.bound)
        for handler in node.handlers:
            self.bound = set(before)
            if handler.type is not None:
                self.expression(handler.type)
            if handler.name:
                self.make(handler.name)
            self.body(handler.body)
            # Python deletes the name at the end of the handler.
            self.bound.discard(handler.name)
            anywhere |= self.bound
            if not (handler.body and isinstance(handler.body[-1], _ast.Raise)):
                every = every & self.bound
        self.ways -= bool(node.handlers)
        self.bound = every
        for name in anywhere - every:
            self.uses[name] = True
        self.body(node.finalbody)

    def pattern(self, node):
        field = PATTERNS.get(type(node))
        if field is not None and getattr(node, field):
            self.make(getattr(node, field))
        for child in children(node):
            if isinstance(child, _ast.expr):
                self.expression(child)
            else:
                self.pattern(child)

    def bind(self, target):
        if isinstance(target, _ast.Name):
            self.make(target.id)
        elif isinstance(target, (_ast.Tuple, _ast.List)):
            for item in target.elts:
                self.bind(item)
        elif isinstance(target, _ast.Starred):
            self.bind(target.value)
        else:
            if is_environment(target):
                self.set(ENVIRONMENT)
            for child in children(target):
                self.expression(child)
            name, _ = base(target)
            if name is not None:
                self.change(name)

    # Expressions.

    def expression_statement(self, node):
        is_last = self.is_last
        self.expression(node)
        name, steps = effect(node)
        if name is None or not self.can_change(name, steps) or steps > 1 and not self.may_change(name, steps):
            return
        # The code drops the value, so the call is for an effect. The last value is shown: a method that returns a
        # value was called for this value, and one that returns None, or its own object, was called for an effect.
        if not is_last or self.returned in (id(None), id(self.namespace.get(name, self))):
            self.change(name)

    def expression(self, node):
        kind = type(node)
        if kind is _ast.Name:
            if isinstance(node.ctx, _ast.Load):
                self.used(node.id)
        elif kind is _ast.Constant:
            pass
        elif kind is _ast.NamedExpr:
            self.expression(node.value)
            self.make(node.target.id)
        elif kind is _ast.Lambda:
            for part in outside(node):
                self.expression(part)
            self.taken(*free(node, self.may_change))
        elif kind in COMPREHENSIONS:
            uses, makes, walrus = free_of_comprehension(node, self.may_change)
            self.taken(uses, makes)
            for name in walrus:
                self.make(name)
        else:
            if kind is _ast.Call and self.call(node):
                return
            if kind is _ast.Attribute and is_environment(node):
                self.used(ENVIRONMENT)
            for child in children(node):
                self.expression(child)

    def taken(self, uses, makes):
        for name in uses:
            self.used(name)
        for name in makes:
            (self.change if name in uses else self.set)(name)

    def call(self, node):
        """Notes the effects of a call apart from its parts. True for a magic, whose parts are done then."""
        function = node.func
        called = getattr(function, "id", None) or getattr(function, "attr", None)
        if called in SETS_FOLDER:
            self.set(FOLDER)
        elif called in LOOKS_AT_FOLDER:
            self.used(FOLDER)
        elif called in SETS_ENVIRONMENT:
            self.set(ENVIRONMENT)
        elif called in LOOKS_AT_ENVIRONMENT:
            self.used(ENVIRONMENT)
        if isinstance(function, _ast.Name):
            if function.id in SEES_ALL or function.id in ("vars", "dir") and not node.args:
                raise Unknown
            if function.id in ("setattr", "delattr") and node.args:
                name, _ = base(node.args[0])
                if name is not None:
                    self.change(name)
            self.file(node, function.id)
        elif isinstance(function, _ast.Attribute):
            if _is_shell(function.value):
                self.magic(function.attr, node.args)
                return True
            name, steps = base(function)
            is_in_place = any(
                word.arg == "inplace" and isinstance(word.value, _ast.Constant) and word.value.value is True
                for word in node.keywords
            )
            if name is not None and (function.attr in CHANGING or is_in_place) and self.can_change(name, steps):
                self.change(name)
            if function.attr in CHANGING and is_environment(function.value):
                self.set(ENVIRONMENT)
            self.file(node, function.attr)
        return False

    def can_change(self, name, steps):
        """Whether a call on the name may change it, judged by its current value: a function of a module does
        not change the module."""
        value = self.namespace.get(name)
        if issubclass(type(value), type(sys)):
            return steps > 1
        return type(value) not in _FIXED or name not in self.namespace

    def may_change(self, name, steps):
        """Like `can_change`, for a call that is made for an effect only: False for a name without a known value."""
        known = self.namespace.get(name, sys)
        return type(known) not in _FIXED and not issubclass(type(known), type(sys))

    def magic(self, method, args):
        texts = [arg.value for arg in args if isinstance(arg, _ast.Constant) and isinstance(arg.value, str)]
        if len(texts) != len(args):
            raise Unknown
        if method in ("system", "getoutput", "getoutput_list"):
            self.in_shell(texts)
        elif method == "run_line_magic" and texts[0] in _PLAIN_MAGICS:
            self.words(texts[1:])
            if texts[0] in _HERE_MAGICS:
                self.used(FOLDER)
        elif method == "run_line_magic" and texts[0] in _FOLDER_MAGICS:
            self.words(texts[1:])
            self.set(FOLDER)
        elif method == "run_line_magic" and texts[0] in ("env", "set_env"):
            self.words(texts[1:])
            is_set = "=" in texts[1] or len(texts[1].split()) > 1
            (self.set if is_set else self.used)(ENVIRONMENT)
        elif method in ("run_line_magic", "run_cell_magic") and texts[0] in _CODE_MAGICS:
            # Options stand before the code, and `%%capture` makes a name for the output.
            if texts[0] == "capture" or texts[1].lstrip().startswith("-"):
                raise Unknown
            # `%time` returns the value of the code that it times.
            is_last = self.is_last and texts[0] == "time"
            for text in texts[1:]:
                body = compile(text, "<names>", "exec", 0x0400 | 0x2000, True).body
                (self.top if is_last else self.body)(body)
        elif method == "run_cell_magic" and texts[0] in _TEXT_MAGICS:
            (self.in_shell if texts[0] in ("bash", "sh", "writefile") else self.words)(texts[1:2])
        else:
            raise Unknown

    def in_shell(self, texts):
        self.words(texts)
        self.used(FOLDER)
        self.used(ENVIRONMENT)

    def words(self, texts):
        """Marks the names that a line for the shell takes from Python."""
        for text in texts:
            for mark in ("{", "$"):
                for part in text.split(mark)[1:]:
                    name = ""
                    for letter in part:
                        if not (name + letter).isidentifier():
                            break
                        name += letter
                    if name in self.namespace:
                        self.used(name)

    # Files.

    def file(self, node, function):
        """Notes a file that the call reads, if a literal or a name with a text or path gives its path."""
        if function == "open":
            mode = node.args[1] if len(node.args) > 1 else None
            for word in node.keywords:
                mode = word.value if word.arg == "mode" else mode
            if mode is not None and not (isinstance(mode, _ast.Constant) and str(mode.value) in ("r", "rb", "rt")):
                return
        elif not (function.startswith(("read", "load", "imread", "scan_")) or function in ("genfromtxt", "fromfile")):
            return
        path = node.args[0] if node.args else None
        holder = node.func.value if isinstance(node.func, _ast.Attribute) else None
        if path is None and isinstance(holder, _ast.Call) and holder.args:
            # Path("x").read_text()
            path = holder.args[0]
        elif path is None:
            path = holder
        if path is not None and len(self.files) < _MAX_FILES:
            self.note_file(path)

    def note_file(self, node):
        value = None
        if isinstance(node, _ast.Constant):
            value = node.value
        elif isinstance(node, _ast.Name):
            value = self.namespace.get(node.id)
        if type(value).__module__.split(".")[0] == "pathlib":
            value = str(value)
        if type(value) is not str or not value or len(value) > 4096 or "\0" in value:
            return
        try:
            path = os.path.abspath(value)
            found = os.stat(path)
            # The host cannot store a time that does not fit into 64 bits.
            if found.st_mode & 0o170000 == 0o100000 and abs(found.st_mtime_ns) < 1 << 63:
                self.files[path] = (found.st_size, found.st_mtime_ns)
                if not os.path.isabs(value):
                    self.used(FOLDER)
        except OSError:
            # Not a file: an address or a text, for example.
            pass

    # The answer.

    def told(self, is_to_come):
        hidden, namespace = self.session.hidden, self.namespace

        def is_users(name):
            """Whether the name comes from the user, not from Python or the session."""
            if name in namespace:
                return hidden.get(name, hidden) is not namespace[name]
            return not hasattr(builtins, name)

        def kept(names):
            return sorted(filter(is_users, names))

        makes = sorted(self.makes)
        later = {}
        for name, (uses, made) in self.later.items():
            uses, made = kept(uses), sorted(made)
            if uses or made:
                later[name] = {"uses": uses, "makes": made}
        for name in makes:
            of = self.class_of(name)
            if of is not None:
                # A cell that uses the name may call the methods of its class.
                later.setdefault(name, {"uses": [of], "makes": []})
        own = ((self.binds | self.indirect) & self.uses.keys()) - self.needs
        told = {"uses": kept(self.uses), "makes": makes, "later": later}
        # Leave out empty fields.
        if own:
            told["own"] = kept(own)
        deletes = kept(self.deletes & self.uses.keys())
        if deletes:
            told["deletes"] = deletes
        absent = [name for name in kept(self.requires) if name not in namespace and name.isidentifier()]
        if is_to_come and absent:
            told["absent"] = absent
        told["files"] = [[path, *stamp] for path, stamp in self.files.items()]
        if len(told["uses"]) + len(makes) + len(later) > _MAX_NAMES:
            raise Unknown
        return told

    def class_of(self, name):
        """The name of the class of the current value of a name, if a cell defined this class."""
        kind = type(self.namespace.get(name))
        known = type.__getattribute__(kind, "__name__")
        is_here = type.__getattribute__(kind, "__module__") == self.namespace.get("__name__")
        return known if is_here and known != name and self.namespace.get(known) is kind else None


def _is_shell(node):
    """Whether the node is `get_ipython()`."""
    return isinstance(node, _ast.Call) and isinstance(node.func, _ast.Name) and node.func.id == "get_ipython"
