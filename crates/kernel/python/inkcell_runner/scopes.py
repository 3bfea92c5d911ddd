"""Names inside of functions, classes and comprehensions: which of them come from outside.

Owns scopes, and what all who look at a tree share. It must not know cells, namespaces or what an answer is for.
"""

import _ast

# Methods that change what they are called on, also where their value is shown.
CHANGING = frozenset(
    "add append appendleft backward clear compile difference_update discard extend extendleft fill fit fit_transform"
    " insert intersection_update load_state_dict partial_fit pop popitem popleft put remove reverse rotate seed"
    " setdefault sort step symmetric_difference_update train update write writelines zero_grad".split()
)

# Functions that may use and make every name there is.
SEES_ALL = frozenset(("exec", "eval", "globals", "locals"))

FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.Lambda)
COMPREHENSIONS = (_ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp)
# Patterns that bind a name, with the field it is in.
PATTERNS = {
    getattr(_ast, kind): field
    for kind, field in (("MatchAs", "name"), ("MatchStar", "name"), ("MatchMapping", "rest"))
    if hasattr(_ast, kind)
}


class Unknown(Exception):
    """What a cell uses or makes cannot be told from its tree."""


def children(node):
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, _ast.AST):
                    yield item
        elif isinstance(value, _ast.AST):
            yield value


def base(node):
    """The name that a chain of attributes and subscripts begins with, and how long the chain is."""
    steps = 0
    while isinstance(node, (_ast.Attribute, _ast.Subscript)):
        node, steps = node.value, steps + 1
    return (node.id if isinstance(node, _ast.Name) else None), steps


def imported(alias):
    return alias.asname or alias.name.split(".", 1)[0]


def parameters(arguments):
    every = [*getattr(arguments, "posonlyargs", ()), *arguments.args, *arguments.kwonlyargs]
    every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return every


def outside(node):
    """What of a function or class is evaluated where it stands: decorators, defaults, annotations, bases."""
    yield from getattr(node, "decorator_list", ())
    if isinstance(node, _ast.ClassDef):
        yield from node.bases
        for keyword in node.keywords:
            yield keyword.value
        return
    yield from node.args.defaults
    for default in node.args.kw_defaults:
        if default is not None:
            yield default
    for parameter in parameters(node.args):
        if parameter.annotation is not None:
            yield parameter.annotation
    if getattr(node, "returns", None) is not None:
        yield node.returns


class Scope:
    """The names of a function, class body or comprehension, and those of them that come from outside."""

    def __init__(self, is_class=False):
        self.is_class = is_class
        self.loads, self.stores, self.changes = set(), set(), set()
        self.globals = set()
        # Of functions inside: what they take from here or from further out.
        self.inner_uses, self.inner_makes = set(), set()

    def free(self):
        """Uses and makes that come from outside."""
        own = self.stores - self.globals
        makes = (self.changes - own) | (self.stores & self.globals)
        uses = (self.loads | self.changes) - own
        # What stands in a class is not seen by its methods.
        seen = set() if self.is_class else own
        makes |= self.inner_makes - seen
        return uses | (self.inner_uses - seen) | makes, makes

    def visit(self, node):
        kind = type(node)
        if kind is _ast.Name:
            (self.loads if isinstance(node.ctx, _ast.Load) else self.stores).add(node.id)
        elif kind in (_ast.Global, _ast.Nonlocal):
            # Bound further out; whoever is there knows whether it is its own.
            self.globals.update(node.names)
        elif kind in (_ast.Import, _ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    raise Unknown
                self.stores.add(imported(alias))
        elif kind in FUNCTIONS or kind is _ast.ClassDef:
            if kind is not _ast.Lambda:
                self.stores.add(node.name)
            for part in outside(node):
                self.visit(part)
            uses, makes = free(node)
            self.inner_uses |= uses
            self.inner_makes |= makes
        elif kind in COMPREHENSIONS:
            uses, makes, walrus = free_of_comprehension(node)
            self.inner_uses |= uses
            self.inner_makes |= makes
            self.stores |= walrus
        else:
            if kind is _ast.ExceptHandler and node.name:
                self.stores.add(node.name)
            elif kind in PATTERNS and getattr(node, PATTERNS[kind]):
                self.stores.add(getattr(node, PATTERNS[kind]))
            elif kind is _ast.Call:
                self._call(node)
            elif kind is _ast.AugAssign:
                name, _ = base(node.target)
                if name is not None:
                    (self.loads if isinstance(node.target, _ast.Name) else self.changes).add(name)
            elif kind in (_ast.Attribute, _ast.Subscript) and not isinstance(node.ctx, _ast.Load):
                name, _ = base(node)
                if name is not None:
                    self.changes.add(name)
            for child in children(node):
                self.visit(child)

    def _call(self, node):
        function = node.func
        if isinstance(function, _ast.Name):
            if function.id in SEES_ALL:
                raise Unknown
        elif isinstance(function, _ast.Attribute):
            name, _ = base(function.value)
            if name is not None and function.attr in CHANGING:
                self.changes.add(name)


def free(node):
    """What the body of a function or class takes from outside."""
    scope = Scope(isinstance(node, _ast.ClassDef))
    if not scope.is_class:
        scope.stores.update(parameter.arg for parameter in parameters(node.args))
    scope.stores.update(part.name for part in getattr(node, "type_params", None) or ())
    for child in [node.body] if isinstance(node, _ast.Lambda) else node.body:
        scope.visit(child)
    return scope.free()


def free_of_comprehension(node):
    """The same of a comprehension, and the names that it binds around itself."""
    scope = Scope()
    for child in children(node):
        scope.visit(child)
    walrus = walruses(node)
    targets = set()
    for generator in node.generators:
        add_targets(generator.target, targets)
    # A walrus is a name of the scope around, which it may also be read from.
    scope.stores = targets
    uses, makes = scope.free()
    return uses - walrus, makes, walrus


def add_targets(node, names):
    if isinstance(node, _ast.Name):
        names.add(node.id)
    elif isinstance(node, (_ast.Tuple, _ast.List)):
        for item in node.elts:
            add_targets(item, names)
    elif isinstance(node, _ast.Starred):
        add_targets(node.value, names)


def walruses(node):
    found, todo = set(), [node]
    while todo:
        one = todo.pop()
        if isinstance(one, _ast.NamedExpr):
            found.add(one.target.id)
        if not isinstance(one, FUNCTIONS):
            todo.extend(children(one))
    return found
