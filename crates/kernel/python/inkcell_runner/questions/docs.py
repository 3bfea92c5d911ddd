"""Describes one name: signature, documentation, the place that defines it, and its source if a cell defined it.

Owns that answer, and the answer about all helpers of the prelude. It must not know how a name is found.
"""

import inspect
import types

from .. import prelude
from . import QuestionError
from .looks import MISSING, class_dict, full_name, is_a, is_library, module_of, mro, of_class
from .paths import resolve
from .preview import cut, is_function, one_line
from .quiet import LookupFailed, ask
from .source import source_of
from .variables import kind_of

_MAX_DOC = 20_000
_MAX_SIGNATURE = 2000


def answer_help(session, question):
    """Describes a name. `prelude` means all helpers, unless the user has a variable of that name."""
    name = question.get("name")
    name = name.strip() if isinstance(name, str) else name
    if name == "prelude" and name not in session.namespace:
        return _prelude(session)
    if isinstance(name, str) and name.startswith("%"):
        return _magic(session, name)
    return describe(session, name, resolve(session, name, for_help=True))


def describe(session, name, value):
    subject = value.fget if is_a(value, property) else value
    if module_of(type(value)) == "inkcell_runner.prelude" and is_a(value, type(prelude.helper("pwd"))):
        # A helper stands for its function, which is loaded at its first use.
        subject = value = value.__wrapped__
    file, line, source = source_of(session, subject)
    return {
        "name": name,
        "kind": "property" if is_a(value, property) else kind_of(value),
        "type": full_name(type(value)),
        "signature": signature(value, name.rpartition(".")[2]),
        "doc": _bounded(doc(value)),
        "file": file,
        "line": line,
        "source": source,
    }


def _bounded(text):
    return None if text is None else cut(text, _MAX_DOC)


# Signatures.


class _Shown:
    """Replaces a default in a signature if its class is the user's, or if its text is long."""

    def __init__(self, value):
        self._text = one_line(value, 80)

    def __repr__(self):
        return self._text


def signature(value, name):
    """Returns the signature as text, or None."""
    found = callable_signature(value)
    if found is None:
        return None
    try:
        parameters = [_plain(parameter) for parameter in found.parameters.values()]
        result = found.return_annotation
        if result is not inspect.Signature.empty:
            result = _annotation(result)
        return cut(name + ask(str, found.replace(parameters=parameters, return_annotation=result)), _MAX_SIGNATURE)
    except (LookupFailed, ValueError):
        return name + "(…)"


def callable_signature(value):
    """Returns the signature of a callable. Calls no code of the user."""
    bound = False
    if is_a(value, property):
        return None
    if is_a(value, type) and not is_library(value):
        value, bound = of_class(value, "__init__"), True
    elif not (is_function(value) or is_a(value, type) or is_library(type(value))):
        value, bound = of_class(type(value), "__call__"), True
    if value is MISSING or not (is_function(value) or is_a(value, type) or _is_called(value)):
        return None
    try:
        found = ask(inspect.signature, value)
    except LookupFailed:
        return None
    if bound and is_a(value, types.FunctionType):
        return found.replace(parameters=list(found.parameters.values())[1:], return_annotation=inspect.Signature.empty)
    return found


def _is_called(value):
    return is_library(type(value)) and of_class(type(value), "__call__") is not MISSING


def _plain(parameter):
    if parameter.default is not inspect.Parameter.empty:
        parameter = parameter.replace(default=_Shown(parameter.default))
    if parameter.annotation is not inspect.Parameter.empty:
        parameter = parameter.replace(annotation=_annotation(parameter.annotation))
    return parameter


def _annotation(value):
    if is_a(value, type) and type(value) is type or is_library(type(value)):
        return value
    return _Shown(value)


# Documentation.


def doc(value):
    """The docstring of a value, or that of its class."""
    if is_a(value, type):
        return _class_doc(value)
    if is_library(type(value)):
        try:
            text = ask(inspect.getdoc, value)
        except LookupFailed:
            return None
        return text if isinstance(text, str) and text else None
    return _class_doc(type(value))


def _class_doc(kind):
    for one in mro(kind):
        text = class_dict(one).get("__doc__")
        if type(text) is str and text and one is not object:
            return inspect.cleandoc(text)
        if module_of(one) == "__main__" and text is None:
            # A class without a docstring does not borrow the one of a base class.
            return None
    return None


# Magics and helpers.


def _magic(session, name):
    from ..shell import Shell

    # A question must not create the session's own shell object.
    shell = session.shell_object if session.shell_object is not None else Shell(session)
    bare = name.lstrip("%")
    kinds = ("cell", "line") if name.startswith("%%") else ("line", "cell")
    function = next((found for found in (shell.find_magic(bare, kind) for kind in kinds) if found is not None), None)
    if function is None:
        raise QuestionError("There is no magic %s here; %%lsmagic lists them." % name[:80])
    wrapped = getattr(function, "__wrapped__", function)
    file, line, source = source_of(session, wrapped)
    return {
        "name": name, "kind": "magic", "type": "magic", "signature": None, "doc": _bounded(doc(wrapped)),
        "file": file, "line": line, "source": source,
    }


def _prelude(session):
    """Lists every helper by category and name, with its whole documentation (E-42)."""
    rows = []
    for row in prelude.docs():
        helper = prelude.helper(row["name"])
        here = session.namespace.get(row["name"]) is helper
        text = inspect.getdoc(helper) or row["doc"]
        rows.append(dict(row, text=cut(text, 2000), installed=here))
    return {"name": "prelude", "kind": "prelude", "level": session.prelude_level, "helpers": rows}
