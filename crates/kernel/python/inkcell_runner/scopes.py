"""Names inside functions, classes and comprehensions: which of them come from outside.

Owns scopes, and the helpers shared by all modules that read a tree. It must not know cells, namespaces or the
use of an answer.
"""

import _ast

# Methods that change their object, even if their value is shown.
CHANGING = frozenset(
    "add append appendleft backward clear compile difference_update discard extend extendleft fill fit fit_transform"
    " insert intersection_update load_state_dict partial_fit pop popitem popleft put remove reverse rotate seed"
    " setdefault sort step symmetric_difference_update train update write writelines zero_grad".split()
)

# Methods called for the output that they show or write elsewhere. Other methods whose value the code drops are
# called for an effect.
LOOKING = frozenset(
    "boxplot close count critical debug describe display error exception flush get head hist index info items join keys"
    " plot print sample save savefig show summary tail values warning".split()
)
LOOKING_BEGIN = ("to_", "get_", "is_", "has_", "save_", "plot_", "print_", "show_", "assert", "check")

# The dependencies of code that are not names, under names that no user can have: the current directory and the
# environment.
FOLDER, ENVIRONMENT = "%cd", "%env"
SETS_FOLDER = frozenset(("chdir", "fchdir"))
SETS_ENVIRONMENT = frozenset(("load_dotenv", "putenv", "unsetenv"))
LOOKS_AT_FOLDER = frozenset("cwd getcwd getcwdb glob iglob listdir rglob scandir walk".split())
LOOKS_AT_ENVIRONMENT = frozenset(("expandvars", "getenv"))

# Functions and methods whose result has the elements of their arguments.
_PASSES_ELEMENTS = frozenset("enumerate filter iter list reversed sorted tuple zip".split())
_HAS_ELEMENTS = frozenset("flatten items ravel values".split())

# Functions that may use and make every name.
SEES_ALL = frozenset(("exec", "eval", "globals", "locals"))

FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.Lambda)
COMPREHENSIONS = (_ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp)
# Patterns that bind a name, with the field that holds it.
PATTERNS = {
    getattr(_ast, kind): field
    for kind, field in (("MatchAs", "name"), ("MatchStar", "name"), ("MatchMapping", "rest"))
    if hasattr(_ast, kind)
}


class Unknown(Exception):
    """The tree does not tell which names a cell uses or makes."""


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
    """The name at the start of a chain of attributes and subscripts, and the length of the chain."""
    steps = 0
    while isinstance(node, (_ast.Attribute, _ast.Subscript)):
        node, steps = node.value, steps + 1
    return (node.id if isinstance(node, _ast.Name) else None), steps


def effect(node):
    """The effect of a call whose value the code drops: the name that may change, and the distance of the method
    from it."""
    call = node.value if isinstance(node, _ast.Await) else node
    if not isinstance(call, _ast.Call) or not isinstance(call.func, _ast.Attribute):
        return None, 0
    name, steps = base(call.func)
    if call.func.attr.startswith(LOOKING_BEGIN):
        return None, 0
    link = call.func
    while isinstance(link, (_ast.Attribute, _ast.Subscript)):
        # This includes `df.plot.bar()`.
        if isinstance(link, _ast.Attribute) and link.attr in LOOKING:
            return None, 0
        link = link.value
    return name, steps


def holders(node):
    """The names that hold the elements of a loop: a change of an element changes them."""
    if isinstance(node, (_ast.Tuple, _ast.List, _ast.Set)):
        return {name for item in node.elts for name in holders(item)}
    if isinstance(node, _ast.Starred):
        return holders(node.value)
    if isinstance(node, _ast.Call):
        if isinstance(node.func, _ast.Name) and node.func.id in _PASSES_ELEMENTS:
            return {name for item in node.args for name in holders(item)}
        if isinstance(node.func, _ast.Attribute) and node.func.attr in _HAS_ELEMENTS:
            return holders(node.func.value)
        return set()
    name, _ = base(node)
    return set() if name is None else {name}


def is_environment(node):
    """Whether the node is `os.environ`, or something in it."""
    while isinstance(node, (_ast.Attribute, _ast.Subscript)):
        if isinstance(node, _ast.Attribute) and node.attr in ("environ", "environb"):
            return True
        node = node.value
    return isinstance(node, _ast.Name) and node.id == "environ"


def imported(alias):
    return alias.asname or alias.name.split(".", 1)[0]


def parameters(arguments):
    every = [*getattr(arguments, "posonlyargs", ()), *arguments.args, *arguments.kwonlyargs]
    every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return every


def outside(node):
    """The parts of a function or class that run at its definition: decorators, defaults, annotations, bases."""
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

    def __init__(self, can_change, is_class=False):
        self.is_class = is_class
        # Tells whether a method called on a name for an effect may change it.
        self.can_change = can_change
        self.loads, self.stores, self.changes = set(), set(), set()
        self.globals, self.augmented = set(), set()
        # Targets of loops, with the names that hold their elements.
        self.elements = {}
        # The names that inner functions take from this scope or from further out.
        self.inner_uses, self.inner_makes = set(), set()

    def free(self):
        """Uses and makes that come from outside. A name that is bound there and is not needed before is only in
        makes."""
        todo = list(self.changes)
        while todo:
            held = self.elements.get(todo.pop(), set()) - self.changes
            self.changes |= held
            todo.extend(held)
        own = self.stores - self.globals
        bound = (self.stores & self.globals) - self.augmented - self.changes
        changes = (self.changes - own) | (self.augmented & self.globals)
        uses = (self.loads | self.changes) - own - bound | changes
        # Methods do not see the names of their class body.
        seen = set() if self.is_class else own
        return uses | (self.inner_uses - seen), changes | bound | (self.inner_makes - seen)

    def visit(self, node):
        kind = type(node)
        if kind is _ast.Name:
            (self.loads if isinstance(node.ctx, _ast.Load) else self.stores).add(node.id)
        elif kind in (_ast.Global, _ast.Nonlocal):
            # The name is bound further out; the outer scope knows whether it is its own.
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
            uses, makes = free(node, self.can_change)
            self.inner_uses |= uses
            self.inner_makes |= makes
        elif kind in COMPREHENSIONS:
            uses, makes, walrus = free_of_comprehension(node, self.can_change)
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
            elif kind is _ast.Expr:
                name, steps = effect(node.value)
                # The value of a name made here is not known yet.
                if name is not None and (name in self.elements or self.can_change(name, steps)):
                    self.changes.add(name)
            elif kind in (_ast.For, _ast.AsyncFor, _ast.comprehension):
                add_elements(node.target, holders(node.iter), self.elements)
            elif kind is _ast.AugAssign:
                name, _ = base(node.target)
                if isinstance(node.target, _ast.Name):
                    self.loads.add(name)
                    self.augmented.add(name)
                elif name is not None:
                    self.changes.add(name)
            elif kind in (_ast.Attribute, _ast.Subscript):
                is_load = isinstance(node.ctx, _ast.Load)
                name, _ = (None, 0) if is_load else base(node)
                if name is not None:
                    self.changes.add(name)
                if is_environment(node):
                    (self.loads if is_load else self.changes).add(ENVIRONMENT)
            for child in children(node):
                self.visit(child)

    def _call(self, node):
        function = node.func
        name = getattr(function, "id", None) or getattr(function, "attr", None)
        if isinstance(function, _ast.Name):
            if name in SEES_ALL:
                raise Unknown
        elif isinstance(function, _ast.Attribute):
            holder, _ = base(function.value)
            if holder is not None and name in CHANGING:
                self.changes.add(holder)
            if name in CHANGING and is_environment(function.value):
                self.changes.add(ENVIRONMENT)
        for names, what in ((SETS_FOLDER, FOLDER), (SETS_ENVIRONMENT, ENVIRONMENT)):
            if name in names:
                # Setting it does not need its old value.
                self.stores.add(what)
                self.globals.add(what)
        for names, what in ((LOOKS_AT_FOLDER, FOLDER), (LOOKS_AT_ENVIRONMENT, ENVIRONMENT)):
            if name in names:
                self.loads.add(what)


def free(node, can_change):
    """The names that the body of a function or class takes from outside."""
    scope = Scope(can_change, isinstance(node, _ast.ClassDef))
    if not scope.is_class:
        scope.stores.update(parameter.arg for parameter in parameters(node.args))
    scope.stores.update(part.name for part in getattr(node, "type_params", None) or ())
    for child in [node.body] if isinstance(node, _ast.Lambda) else node.body:
        scope.visit(child)
    return scope.free()


def free_of_comprehension(node, can_change):
    """The names that a comprehension takes from outside, and the names that it binds in the scope around it."""
    scope = Scope(can_change)
    for child in children(node):
        scope.visit(child)
    walrus = walruses(node)
    targets = set()
    for generator in node.generators:
        add_targets(generator.target, targets)
    # A walrus binds a name of the scope around, and the comprehension may also read it from there.
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


def add_elements(target, held_by, elements):
    """Notes for each name of a loop's target the names that hold its elements, except itself."""
    names = set()
    add_targets(target, names)
    for name in names:
        elements[name] = held_by - {name}


def walruses(node):
    found, todo = set(), [node]
    while todo:
        one = todo.pop()
        if isinstance(one, _ast.NamedExpr):
            found.add(one.target.id)
        if not isinstance(one, FUNCTIONS):
            todo.extend(children(one))
    return found
