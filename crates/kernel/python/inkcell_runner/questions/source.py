"""Finds where an object is defined, and its source text if a cell defined it.

Owns the search for the lines of a function or a class in the source of a cell.
"""

import ast
import inspect
import linecache
import os
import types

from .looks import class_dict, is_a, is_library, module_of, name_of
from .preview import cut
from .quiet import LookupFailed, ask

_MAX_SOURCE = 20_000


def source_of(session, value):
    """Returns file, line and text. The text is None for a definition in a file, where the caller can read it."""
    if is_a(value, types.MethodType):
        value = value.__func__
    if is_a(value, types.FunctionType):
        value = ask(inspect.unwrap, value)
        code = value.__code__
        file, line = code.co_filename, code.co_firstlineno
        return _named(session, file, line, value.__name__)
    if is_a(value, type) and module_of(value) == "__main__":
        return _of_class(session, value)
    if not is_a(value, type, types.ModuleType):
        return source_of(session, type(value))
    if not is_library(type(value)):
        # A class whose metaclass is the user's.
        return None, None, None
    try:
        file = ask(lambda: inspect.getsourcefile(value) or inspect.getfile(value))
    except LookupFailed:
        return None, None, None
    line = None
    if is_a(value, type) and is_library(value):
        try:
            line = ask(inspect.findsource, value)[1] + 1
        except LookupFailed:
            pass
    return os.path.abspath(file), line, None


def _cell_lines(session, file):
    """The lines of a cell by its name. None if the name is that of a file."""
    source = session.executor.sources.get(file)
    if source is not None:
        return source.split("\n")
    # IPython keeps its cells in `linecache`, where tracebacks find them. Those entries have no modification time.
    kept = linecache.cache.get(file)
    if kept is not None and len(kept) == 4 and kept[1] is None:
        return [line.rstrip("\n") for line in kept[2]]
    return None


def _named(session, file, line, name):
    lines = _cell_lines(session, file)
    if lines is None:
        return (file if file.startswith("<") else os.path.abspath(file)), line, None
    if name == "<lambda>":
        return file, line, cut("\n".join(lines[line - 1 : line]).strip(), _MAX_SOURCE)
    return file, line, _text(lines, _find(lines, name, line))


def _of_class(session, kind):
    """Finds a class by its methods, because before Python 3.13 it has no line. The last class of its name counts."""
    name = name_of(kind)
    files = []
    for member in class_dict(kind).values():
        code = getattr(member, "__code__", None) if is_a(member, types.FunctionType) else None
        if code is not None and code.co_filename not in files and _cell_lines(session, code.co_filename):
            files.append(code.co_filename)
    known = [file for file in [*session.executor.sources, *linecache.cache] if file.startswith("<")]
    for file in files or reversed(known):
        lines = _cell_lines(session, file)
        node = _find(lines, name, None) if lines else None
        if node is not None:
            return file, node.lineno, _text(lines, node)
    return None, None, None


def _find(lines, name, line):
    """Finds the definition of this name that begins at this line, decorators included; or the last one."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = None
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            if line is None and isinstance(node, ast.ClassDef) or line == _first_line(node):
                found = node
    return found


def _first_line(node):
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _text(lines, node):
    if node is None:
        return None
    return cut("\n".join(lines[_first_line(node) - 1 : node.end_lineno]), _MAX_SOURCE)
