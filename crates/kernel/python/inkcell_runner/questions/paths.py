"""Follows an expression such as `model.layers[0].weights` to its object.

Owns the expressions that it follows: names, attributes and constant subscripts. They are parsed and never evaluated.
It refuses a step that would run code of the user's classes.
"""

import ast
import builtins
import sys
import types

from . import QuestionError
from .looks import MISSING, attributes, is_a, is_library, of_class
from .quiet import LookupFailed, ask

_MAX_LENGTH = 500


def resolve(session, path, for_help=False):
    """Returns the object that a path leads to. With `for_help` it returns a property itself rather than its value, and
    a path can begin with a loaded module that no variable refers to."""
    steps = _parse(path)
    first = steps[0]
    namespace = session.namespace
    if first in namespace:
        value, done = namespace[first], 1
    elif hasattr(builtins, first):
        value, done = getattr(builtins, first), 1
    elif for_help and first in sys.modules:
        value, done = sys.modules[first], 1
    else:
        raise QuestionError("%s is not defined in this session; ask without a name to list what is." % first)
    for at in range(done, len(steps)):
        walked = _text(steps[:at])
        value = _step(value, steps[at], walked, for_help and at == len(steps) - 1)
    return value


def _parse(path):
    """Returns the first name, then one entry for each step: text for an attribute, a tuple of one for a subscript."""
    refusal = "A name here is a variable, its attributes and constant subscripts, such as `a.b[0][\"key\"]`, not %s."
    if not isinstance(path, str) or len(path) > _MAX_LENGTH:
        raise QuestionError(refusal % "a text of more than %d characters" % _MAX_LENGTH)
    shown = "`%s`" % path[:80]
    try:
        node = ast.parse(path.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise QuestionError(refusal % shown) from None
    steps = []
    while True:
        if isinstance(node, ast.Name):
            return [node.id] + steps[::-1]
        if isinstance(node, ast.Attribute):
            steps.append(node.attr)
        elif isinstance(node, ast.Subscript):
            try:
                steps.append((_constant(node.slice),))
            except ValueError:
                raise QuestionError(refusal % shown) from None
        else:
            raise QuestionError(refusal % shown)
        node = node.value


def _constant(node):
    kind = type(node).__name__
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else _constant(part) for part in parts))
    if isinstance(node, ast.Tuple):
        return tuple(map(_constant, node.elts))
    if kind == "ExtSlice":
        # Python before 3.9 had one more node here; some tools still make it.
        return tuple(map(_constant, node.dims))
    return ast.literal_eval(node)


def _text(steps):
    """Writes steps as the user wrote them."""
    text = steps[0]
    for step in steps[1:]:
        text += "[%r]" % step if isinstance(step, tuple) else "." + step
    return text


def _step(value, step, walked, keep_property):
    if isinstance(step, tuple):
        return _item(value, step[0], walked)
    return _attribute(value, step, walked, keep_property)


# Attributes.


def _attribute(value, name, walked, keep_property):
    missing = QuestionError("%s has no attribute %s that can be seen without running code." % (walked, name))
    if is_a(value, types.ModuleType):
        # A module's `__getattr__` may import more, so it is not called.
        held = types.ModuleType.__getattribute__(value, "__dict__")
        full = "%s.%s" % (held.get("__name__"), name)
        if name in held:
            return held[name]
        if full in sys.modules:
            return sys.modules[full]
        raise missing
    if is_a(value, type):
        found = of_class(value, name)
        if found is MISSING:
            raise missing
        return _unwrapped(found, value)
    if keep_property:
        found = of_class(type(value), name)
        if is_a(found, property):
            return found
    if is_library(type(value)):
        try:
            return ask(getattr, value, name)
        except LookupFailed:
            raise missing from None
    return _of_user(value, name, walked, missing)


def _of_user(value, name, walked, missing):
    """Finds an attribute of an instance of the user's class in the places where Python would find it."""
    held = attributes(value)
    if name in held:
        return held[name]
    found = of_class(type(value), name)
    if found is MISSING:
        raise missing
    if is_a(found, types.FunctionType):
        return types.MethodType(found, value)
    if is_a(found, staticmethod, classmethod):
        return _unwrapped(found, type(value))
    if hasattr(type(found), "__get__"):
        raise QuestionError("%s.%s is computed by code of the class; use a cell to read it." % (walked, name))
    return found


def _unwrapped(found, owner):
    if is_a(found, staticmethod):
        return found.__func__
    if is_a(found, classmethod) and is_a(found.__func__, types.FunctionType):
        return types.MethodType(found.__func__, owner)
    return found


# Subscripts.


def _item(value, key, walked):
    missing = QuestionError("%s has no item %r." % (walked, key))
    if is_a(value, dict):
        # Bypass `__missing__`, which would add the key.
        try:
            found = dict.get(value, key, MISSING)
        except TypeError:
            found = MISSING
        if found is MISSING:
            raise missing
        return found
    for kind in (list, tuple, str, bytes):
        if is_a(value, kind):
            try:
                return kind.__getitem__(value, key)
            except (IndexError, TypeError):
                raise missing from None
    if not is_library(type(value)):
        raise QuestionError("%s[%r] is computed by code of the class; use a cell to read it." % (walked, key))
    try:
        return ask(lambda: value[key])
    except LookupFailed:
        raise missing from None
