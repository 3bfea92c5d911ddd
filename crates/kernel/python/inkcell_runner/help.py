"""Answers `name?` and `name??`: describes an object as text in IPython's layout.

Owns three things: finding a name while running no code but attribute access, the fields shown for each kind of object,
and wildcard search. It prints plain text: there is no pager.
"""

import builtins
import inspect
import os
import re
import types

USAGE = """\
Cells are Python, with these additions of IPython:
  name?  name??        what an object is; with its source
  *pattern*?           names that match
  %magic args          a line magic; %lsmagic lists them
  %%magic args         a cell magic: the rest of the cell belongs to it
  !command             a shell command; x = !command keeps its lines"""

_PART = re.compile(r"\.?([^\W\d]\w*)|\[(-?\d+|\"[^\"]*\"|'[^']*')\]")
_MAX_TEXT = 200
_MAX_WIDTH = 75
# Docstrings that Python gives every object of a kind. They say nothing about one object.
_OF_NOTHING = {inspect.getdoc(kind) for kind in (types.ModuleType, types.MethodType, types.FunctionType)}
_OF_INIT = inspect.getdoc(object.__init__)
_OF_CALL = inspect.getdoc(types.FunctionType.__call__)
_CALLABLES = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)


class Found:
    """The object that a name leads to."""

    def __init__(self, value, space="Interactive", magic=False):
        self.value = value
        self.space = space
        self.magic = magic


def find(shell, name):
    """Finds the object that `name` means to the user, or None."""
    if name.startswith("%"):
        return _find_magic(shell, name)
    if "".join(part.group() for part in _PART.finditer(name)) != name:
        return None
    parts = list(_PART.finditer(name))
    if not parts or parts[0].group(1) is None:
        return None
    first = parts[0].group(1)
    if first in shell.user_ns:
        found = Found(shell.user_ns[first])
    elif hasattr(builtins, first):
        found = Found(getattr(builtins, first), "Python builtin")
    else:
        # As in IPython, a bare name may also name a magic.
        return _find_magic(shell, name)
    for part in parts[1:]:
        try:
            found.value = _step(found.value, part, last=part is parts[-1])
        except Exception:
            return None
    return found


def _step(value, part, last):
    if part.group(2) is not None:
        key = part.group(2)
        return value[key[1:-1] if key[0] in "\"'" else int(key)]
    name = part.group(1)
    if last:
        # Show the property itself; its value may be slow to compute.
        own = inspect.getattr_static(type(value), name, None)
        if isinstance(own, property):
            return own
    return getattr(value, name)


def _find_magic(shell, name):
    bare = name.lstrip("%")
    kinds = ("cell", "line") if name.startswith("%%") else ("line", "cell")
    for kind in kinds:
        function = shell.find_magic(bare, kind)
        if function is not None:
            return Found(function, "IPython internal", magic=True)
    return None


def show(shell, name, detail=False):
    """Prints a description of a name; with `detail`, its source as well."""
    if not name:
        print("Object `` not found.")
        return
    if "*" in name:
        search(shell, name)
        return
    found = find(shell, name)
    if found is None:
        print("Object `%s` not found." % name)
        return
    fields = [(title, text) for title, text in _fields(found, name, detail) if text is not None]
    width = max(len(title) for title, _ in fields)
    for title, text in fields:
        text = text.strip("\n")
        gap = " " * (width - len(title))
        print("%s:%s%s%s" % (title, gap, "\n" if "\n" in text else " ", text))


def _fields(found, name, detail):
    value = found.value
    text = _doc(value)
    source = _source(value) if detail else None
    if found.magic:
        value = getattr(value, "__wrapped__", value)
        shown = _source(value) if detail else (text or "<no docstring>")
        return [("Source" if detail else "Docstring", shown), ("File", _file(value))]
    docstring = text or "<no docstring>"
    if source is not None and (text is None or _within(text, source)):
        docstring = None
    last = name
    if inspect.isclass(value):
        return _class_fields(value, last, docstring, source)
    if isinstance(value, _CALLABLES):
        return [
            ("Signature", _signature(value, last)),
            ("Docstring", docstring),
            ("Source", source),
            ("File", _file(value)),
            ("Type", type(value).__name__),
        ]
    return _object_fields(found, last, docstring, source, detail)


def _within(text, source):
    """Whether the source already shows the docstring, whatever its indentation."""
    return " ".join(text.split()) in " ".join(source.split())


def _class_fields(value, name, docstring, source):
    signature = _signature(value, name)
    if signature is None:
        signature = _signature(value.__init__, name)
    init = _doc(value.__init__)
    names = [one.__name__ for one in type.__subclasses__(value)]
    if len(names) >= 10:
        names = names[:10] + ["..."]
    return [
        ("Init signature", signature),
        ("Docstring", docstring),
        ("Source", source),
        ("Init docstring", None if source is not None or init == _OF_INIT else init),
        ("File", _file(value)),
        ("Type", type(value).__name__),
        ("Subclasses", ", ".join(names)),
    ]


def _object_fields(found, name, docstring, source, detail):
    value = found.value
    kind = type(value)
    of_class = _doc(kind)
    if of_class in _OF_NOTHING or docstring is None or of_class == docstring:
        of_class = None
    if isinstance(value, property):
        of_class = None
    of_init = _doc(kind.__init__)
    if of_init == _OF_INIT or isinstance(value, types.ModuleType):
        of_init = None
    of_call = signature = None
    if hasattr(value, "__call__"):
        of_call = _doc(value.__call__)
        if of_call == _OF_CALL:
            of_call = None
        signature = _signature(value.__call__, name)
    return [
        ("Signature", _signature(value, name)),
        ("Call signature", signature if signature != _signature(value, name) else None),
        ("Type", kind.__name__),
        ("String form", _text(value, detail)),
        ("Namespace", found.space if found.space != "Interactive" else None),
        ("Length", _length(value)),
        ("File", _file(value)),
        ("Source", source),
        ("Docstring", docstring if source is None else None),
        ("Class docstring", of_class),
        ("Init docstring", of_init),
        ("Call docstring", of_call),
    ]


def _text(value, detail):
    try:
        text = str(value)
    except Exception:
        return None
    if not detail and len(text) > _MAX_TEXT:
        half = (_MAX_TEXT - 5) // 2
        text = text[:half] + " <...> " + text[-half:]
        text = ("\n" + " " * 11).join(line.strip() for line in text.split("\n"))
    return text


def _length(value):
    try:
        return str(len(value))
    except Exception:
        return None


def _doc(value):
    """The docstring. Some objects make their own in `getdoc()`."""
    try:
        own = value.getdoc()
    except Exception:
        pass
    else:
        if isinstance(own, str):
            return inspect.cleandoc(own)
    try:
        text = inspect.getdoc(value)
    except Exception:
        return None
    return text if isinstance(text, str) and text else None


def _signature(value, name):
    """The signature as text; a long one has one parameter a line."""
    if not callable(value):
        return None
    try:
        signature = inspect.signature(value)
    except Exception:
        return None
    parts = []
    kinds = [p.kind for p in signature.parameters.values()]
    starred = inspect.Parameter.VAR_POSITIONAL in kinds
    for at, parameter in enumerate(signature.parameters.values()):
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        parts.append(str(parameter))
        only = inspect.Parameter.POSITIONAL_ONLY
        if parameter.kind is only and (at + 1 == len(kinds) or kinds[at + 1] is not only):
            parts.append("/")
    if len(name) + sum(len(part) + 2 for part in parts) > _MAX_WIDTH:
        text = "%s(\n%s)" % (name, "".join("    %s,\n" % part for part in parts))
    else:
        text = "%s(%s)" % (name, ", ".join(parts))
    if signature.return_annotation is not inspect.Signature.empty:
        text += " -> " + inspect.formatannotation(signature.return_annotation)
    return text


def _code_of(value):
    """The object whose source to show: unwraps decorators, properties and instances."""
    if isinstance(value, property):
        return value.fget
    try:
        value = inspect.unwrap(value)
    except ValueError:
        pass
    kinds = (type, types.ModuleType, types.FunctionType, types.MethodType, types.CodeType)
    if isinstance(value, kinds) or isinstance(value, types.BuiltinFunctionType):
        return value
    return type(value)


def _source(value):
    import linecache

    linecache.checkcache()
    if isinstance(value, property):
        parts = [_source(part) for part in (value.fget, value.fset, value.fdel) if part is not None]
        return "\n".join(part for part in parts if part) or None
    code = _code_of(value)
    if _is_of_cell(code):
        return _class_source(code)
    try:
        return inspect.getsource(code).rstrip()
    except Exception:
        return None


def _is_of_cell(value):
    """Whether this is a class that the user typed. `inspect` would look for it in the program's own file."""
    return isinstance(value, type) and value.__module__ == "__main__"


def _cell_of(value):
    """The name of the cell that defines a class, found through its first method."""
    for member in vars(value).values():
        code = getattr(getattr(member, "__func__", member), "__code__", None)
        if code is not None and getattr(member, "__module__", None) == "__main__":
            return code.co_filename
    return None


def _class_source(value):
    import ast
    import linecache

    lines = linecache.getlines(_cell_of(value) or "")
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == value.__name__:
            return "".join(lines[node.lineno - 1: node.end_lineno]).rstrip()
    return None


def _file(value):
    code = _code_of(value)
    try:
        if _is_of_cell(code):
            path = _cell_of(code)
        else:
            path = inspect.getsourcefile(code) or inspect.getfile(code)
    except Exception:
        return None
    if path is None:
        return None
    if path == "<string>":
        return "Dynamically generated function. No source code available."
    if not path.startswith("<"):
        path = os.path.abspath(path)
    home = os.path.expanduser("~")
    if path.startswith(home + os.sep):
        path = "~" + path[len(home):]
    return path


def _wanted(shell, name):
    found = find(shell, name)
    if found is None:
        print("Object `%s` not found." % name)
        return None
    if found.magic:
        found.value = getattr(found.value, "__wrapped__", found.value)
    return found


def source(shell, name):
    """Prints the source of an object."""
    found = _wanted(shell, name)
    if found is not None:
        print(_source(found.value) or "No source found for %s" % name)


def doc(shell, name):
    """Prints the docstrings of an object."""
    found = _wanted(shell, name)
    if found is None:
        return
    value = found.value
    parts = [("Class docstring:", _doc(value))]
    if inspect.isclass(value):
        parts.append(("Init docstring:", _doc(value.__init__)))
    elif hasattr(value, "__call__"):
        parts.append(("Call docstring:", _doc(value.__call__)))
    lines = []
    for head, text in parts:
        if text:
            lines.append(head)
            lines += ["    " + line if line else "" for line in text.split("\n")]
    print("\n".join(lines) if lines else "No documentation found for %s" % name)


def definition(shell, name):
    """Prints the signature of an object."""
    found = _wanted(shell, name)
    if found is not None:
        signature = _signature(found.value, name)
        print(" %s\n " % signature if signature else "No definition header found for %s" % name, end="")


def file(shell, name):
    """Prints the file that defines an object, or a file by its path."""
    found = find(shell, name)
    path = None
    if found is not None:
        path = _file(found.value)
    elif os.path.isfile(os.path.expanduser(name)):
        path = name
    else:
        print("Object `%s` not found." % name)
        print("File `%r` not found." % name)
        return
    if path is None:
        print("No file found for %s" % name)
        return
    path = os.path.expanduser(path)
    if path.endswith((".so", ".dll", ".pyd")):
        print("File %r is binary, not printing." % path)
    elif not os.path.isfile(path):
        print("File %r does not exist, not printing." % path)
    else:
        with open(path, encoding="utf-8", errors="replace") as text:
            print(text.read())


def search(shell, pattern, everything=False, exact_case=False):
    """Prints the names that match a pattern such as `np.*sin*`."""
    import fnmatch

    flags = 0 if exact_case or pattern != pattern.lower() else re.IGNORECASE
    names = {name: value for name, value in vars(builtins).items()}
    names.update(shell.user_ns)
    found = {"": names}
    for part in pattern.split("."):
        match = re.compile(fnmatch.translate(part), flags).match
        hidden = not everything and not part.startswith("_")
        level = {}
        for path, space in found.items():
            for name in space:
                if isinstance(name, str) and match(name) and not (hidden and name.startswith("_")):
                    level[path + "." + name if path else name] = space[name]
        found = {path: _Members(value) for path, value in level.items()}
    for path in sorted(found):
        print(path)


class _Members(dict):
    """The attributes of an object, read only on demand."""

    def __init__(self, owner):
        self._owner = owner
        dict.__init__(self)

    def __iter__(self):
        try:
            return iter(dir(self._owner))
        except Exception:
            return iter(())

    def __getitem__(self, name):
        return getattr(self._owner, name, None)
