"""Completes the code before a cursor.

Owns the completion of names, attributes, keys, keyword arguments, magics, modules and files. Where IPython runs the
cells, its own completer answers, except where it would import or read the object in question. Positions are counted in
characters.
"""

import builtins
import keyword
import os
import pkgutil
import re
import sys
import types
import warnings
from itertools import islice

from . import QuestionError
from .docs import callable_signature
from .looks import attributes, class_dict, is_a, is_library, mro, of_loaded
from .paths import resolve
from .preview import cut
from .quiet import LookupFailed, ask
from .scan import Place
from .variables import kind_of, own_names

_MAX_MATCHES = 200
_MAX_CODE = 1_000_000
# The time limit of IPython's completer.
_SECONDS = 2.0
# Matches code that ends behind or in a subscript. IPython would read that item, and reading may add one, as in a
# `defaultdict`.
_SUBSCRIPT = re.compile(r"\]\s*(?:\.[\w.\s]*|\[\s*[rbfuRBFU]*(?:'[^'\n]*|\"[^\"\n]*)?)$")
# Matches code that ends in a path of names, attributes and constant subscripts.
_PATH = r"[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*|\[(?:-?\d+|'[^'\n]*'|\"[^\"\n]*\")\])*"
_ATTRIBUTE = re.compile(r"(?<![\w.\])])(%s)\s*\.\s*(\w*)$" % _PATH)
_ENDS_IN_PATH = re.compile(r"(?<![\w.\])])(%s)\s*$" % _PATH)
_WORD = re.compile(r"(?<!\w)([^\W\d]\w*)?$")
_MAGIC = re.compile(r"^\s*(?:[\w.]+\s*=\s*)?(%{1,2})(\w*)$")
_IMPORT = re.compile(r"^\s*import\s+(?:.*,\s*)?([\w.]*)$")
_FROM = re.compile(r"^\s*from\s+([\w.]*)$")
_FROM_IMPORT = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+(?:.*[,(]\s*)?(\w*)$")
_BOUND = re.compile(
    r"\b(?:def|class|as|for|import)\s+([^\W\d]\w*)|^\s*([^\W\d]\w*)\s*(?::[^=\n]*)?[-+*/|&]?=(?!=)", re.MULTILINE
)
_COMPUTED = (property, types.GetSetDescriptorType, types.MemberDescriptorType)


def answer_complete(session, question):
    """Returns the matches, and the part of the code that they replace."""
    code, cursor = question.get("code"), question.get("cursor")
    if not isinstance(code, str) or len(code) > _MAX_CODE:
        raise QuestionError("Completion needs `code`, a text of at most %d characters." % _MAX_CODE)
    if cursor is None:
        cursor = len(code)
    if not isinstance(cursor, int) or not 0 <= cursor <= len(code):
        raise QuestionError("`cursor` is %r; it can be 0 to %d, the length of the code." % (cursor, len(code)))
    before = code[:cursor]
    line = before.rpartition("\n")[2]
    start, found = cursor, None
    if _is_import(line):
        start, found = _modules(line, cursor)
    elif session.hosted is not None and not _SUBSCRIPT.search(before):
        start, cursor, found = _hosted(session.hosted.shell, code, cursor)
    own = _Completer(session, code, before, line)
    if found is None:
        start, found = own.matches()
    elif session.hosted is not None and not _is_import(line):
        start, found = own.with_arguments(start, found)
    unique = {}
    for text, kind in found:
        unique.setdefault(text, kind)
    shown = [{"text": cut(text, 500), "type": kind} for text, kind in islice(unique.items(), _MAX_MATCHES)]
    return {"start": start, "end": cursor, "matches": shown, "total": len(unique)}


def _hosted(shell, code, cursor):
    """Returns IPython's own matches, by its own rules. Leaves out jedi, which reads files and is slow to start."""
    try:
        found = ask(_completions, shell.Completer, code, cursor, seconds=_SECONDS)
    except LookupFailed:
        # The completer reached code of the user.
        return cursor, cursor, None
    if not found:
        return cursor, cursor, []
    start, end = min(one.start for one in found), max(one.end for one in found)
    texts = [(code[start : one.start] + one.text + code[one.end : end], _type(one.type)) for one in found]
    if code[start : start + 1] == "." and all(text.startswith(".") for text, _ in texts):
        # The code already contains the dot.
        return start + 1, end, [(text[1:], kind) for text, kind in texts]
    return start, end, texts


def _completions(completer, code, cursor):
    kept = completer.use_jedi
    completer.use_jedi = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(islice(completer.completions(code, cursor), 10 * _MAX_MATCHES))
    finally:
        completer.use_jedi = kept


def _type(kind):
    return kind if kind and kind != "<unknown>" else "name"


# Completing imports without importing.


def _is_import(line):
    return any(pattern.match(line) for pattern in (_IMPORT, _FROM, _FROM_IMPORT))


def _modules(line, cursor):
    match = _FROM_IMPORT.match(line)
    if match:
        package, word = match.groups()
        names = [(name, "module") for name in _submodules(package)]
        loaded = sys.modules.get(package)
        if is_a(loaded, types.ModuleType):
            names += [(name, "name") for name in vars(loaded) if not name.startswith("_")]
    else:
        package, _, word = (_IMPORT.match(line) or _FROM.match(line)).group(1).rpartition(".")
        names = [(name, "module") for name in (_submodules(package) if package else _top_modules())]
    return cursor - len(word), sorted(one for one in names if one[0].startswith(word))


def _top_modules():
    names = set(sys.builtin_module_names) | {info.name for info in pkgutil.iter_modules()}
    return {name for name in names if not name.startswith("_")}


def _submodules(package):
    """The modules of a loaded package. Finding those of an unloaded package would import it."""
    loaded = sys.modules.get(package)
    path = vars(loaded).get("__path__") if is_a(loaded, types.ModuleType) else None
    if path is None:
        return set()
    return {info.name for info in pkgutil.iter_modules(list(path))}


class _Completer:
    """Completes code for the runner's own shell. The text before the cursor decides."""

    def __init__(self, session, code, before, line):
        self._session = session
        self._code, self._before, self._line = code, before, line
        self._cursor = len(before)
        self._place = Place(before)

    def matches(self):
        """Returns where the matches begin, and (text, type) of each."""
        place, line = self._place, self._line
        if place.string is not None:
            return self._in_string()
        if place.in_comment:
            return self._cursor, []
        if line.lstrip().startswith("!"):
            return _files(re.split(r"[\s=]", line)[-1], self._cursor)
        magic = _MAGIC.match(line)
        if magic:
            return self._magics(*magic.groups())
        if line.lstrip().startswith("%"):
            return _files(line.split(" ")[-1], self._cursor)
        attribute = _ATTRIBUTE.search(self._before)
        if attribute:
            path, word = attribute.groups()
            return self._cursor - len(word), self._attributes(path, word)
        literal = re.search(r"[\"']\.(\w*)$", self._before)
        if literal:
            word = literal.group(1)
            return self._cursor - len(word), _chosen(((name, "function") for name in dir(str)), word)
        word = _WORD.search(self._before).group(1) or ""
        if self._before[: self._cursor - len(word)].endswith("."):
            # An attribute of an expression that would have to be evaluated.
            return self._cursor, []
        return self._cursor - len(word), self._arguments(word) + self._names(word)

    def with_arguments(self, start, found):
        """Puts keyword arguments before IPython's matches. Older versions of IPython find those by running code, and
        are stopped when they try."""
        word = _WORD.search(self._before).group(1) or ""
        begin = self._cursor - len(word)
        if self._place.string is not None or (found and start != begin) or self._before[:begin].endswith("."):
            return start, found
        arguments = self._arguments(word)
        return (begin, arguments + found) if arguments else (start, found)

    def _resolve(self, path):
        """Returns the object that a path leads to, in a list. Empty if the path cannot be followed."""
        try:
            return [resolve(self._session, re.sub(r"\s+", "", path) if "'" not in path else path)]
        except QuestionError:
            return []

    # Strings.

    def _in_string(self):
        place = self._place
        typed = self._before[place.string :]
        opening = place.string - len(place.quote) - len(place.prefix)
        if place.brackets and place.brackets[-1][0] == "[":
            owner = self._before[: place.brackets[-1][1]]
            between = self._before[place.brackets[-1][1] + 1 : opening]
            match = _ENDS_IN_PATH.search(owner)
            if match and not between.strip(" \t[,:"):
                for value in self._resolve(match.group(1)):
                    return place.string, [(key, "key") for key in _keys(value) if key.startswith(typed)]
        if "\n" in typed:
            return self._cursor, []
        return _files(typed, self._cursor)

    def _magics(self, sign, word):
        from ..shell import Shell

        # A question must not create the session's own shell object.
        shell = self._session.shell_object if self._session.shell_object is not None else Shell(self._session)
        tables = shell.magics_manager.magics
        found = sorted(name for name in tables["line" if sign == "%" else "cell"] if name.startswith(word))
        if sign == "%" and not word and not self._before.strip(" %"):
            # At the beginning of a cell a second sign may follow.
            found += sorted("%" + name for name in tables["cell"])
        return self._cursor - len(word) - len(sign), [(sign + name, "magic") for name in found]

    # Names.

    def _attributes(self, path, word):
        return [one for value in self._resolve(path) for one in _chosen(members(value), word)]

    def _arguments(self, word):
        """The keyword arguments of the call around the cursor."""
        brackets = self._place.brackets
        if not brackets or brackets[-1][0] != "(":
            return []
        match = _ENDS_IN_PATH.search(self._before[: brackets[-1][1]])
        between = self._before[brackets[-1][1] + 1 : self._cursor - len(word)].rstrip()
        if match is None or (between and not between.endswith(",")):
            return []
        found = []
        for value in self._resolve(match.group(1)):
            signature = callable_signature(value)
            for parameter in signature.parameters.values() if signature else ():
                if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                    found.append((parameter.name + "=", "param"))
        return [one for one in found if one[0].startswith(word)]

    def _names(self, word):
        names = {name: "keyword" for name in keyword.kwlist}
        names.update((name, kind_of(value)) for name, value in vars(builtins).items())
        space = self._session.namespace
        names.update((name, kind_of(value)) for name, value in list(space.items()) if isinstance(name, str))
        own = {name for name, _ in own_names(self._session)}
        # Names that the code itself will bind. The unfinished word is not one of them.
        around = self._before[: self._cursor - len(word)] + " " + self._code[self._cursor :]
        for match in _BOUND.finditer(around):
            own.add(match.group(1) or match.group(2))
            names.setdefault(match.group(1) or match.group(2), "name")
        return _chosen(names.items(), word, own)


def _chosen(names, word, first=()):
    """Returns the names that begin with `word`: those in `first` before others. Private names come last, and only if
    `word` is not empty."""
    found = [(name, kind) for name, kind in names if name.startswith(word) and (word or not name.startswith("_"))]
    return sorted(found, key=lambda one: (one[0].startswith("_"), one[0] not in first, one[0]))


def members(value):
    """The attributes of a value as (name, type). Runs no code of the user."""
    kind = type(value)
    if is_a(value, types.ModuleType):
        held = types.ModuleType.__getattribute__(value, "__dict__")
        return [(name, kind_of(one)) for name, one in list(held.items()) if isinstance(name, str)]
    found = {}
    if is_library(kind) and not is_a(value, type):
        try:
            found.update((name, "name") for name in ask(dir, value) if isinstance(name, str))
        except LookupFailed:
            pass
    for one in reversed(mro(value) if is_a(value, type) else mro(kind)):
        for name, member in class_dict(one).items():
            if isinstance(name, str):
                found[name] = "property" if is_a(member, *_COMPUTED) else kind_of(member)
    found.update((name, kind_of(held)) for name, held in attributes(value).items())
    return list(found.items())


def _keys(value):
    """The texts that can stand in brackets after a value."""
    if is_a(value, dict):
        keys = dict.keys(value)
    elif is_library(type(value)):
        try:
            keys = ask(_columns, value)
        except LookupFailed:
            return []
    else:
        return []
    return [key for key in islice(keys, 10 * _MAX_MATCHES) if type(key) is str]


def _columns(value):
    if is_a(value, *of_loaded("numpy", "ndarray", "void")):
        return list(value.dtype.names or ())
    if is_a(value, *of_loaded("pandas", "Series")):
        return list(islice(value.index, 10 * _MAX_MATCHES))
    if hasattr(value, "column_names"):
        return list(value.column_names)
    return list(islice(value.columns, 10 * _MAX_MATCHES)) if hasattr(value, "columns") else []


def _files(typed, cursor):
    """The files and folders that complete a path. Folders end in a slash."""
    folder, _, word = typed.rpartition("/")
    if typed.startswith("/") and not folder:
        folder = "/"
    try:
        entries = sorted(islice(os.scandir(os.path.expanduser(folder or ".")), 5000), key=lambda one: one.name)
    except (OSError, ValueError):
        return cursor, []
    found = []
    for entry in entries:
        if entry.name.startswith(word) and (word or not entry.name.startswith(".")):
            found.append((entry.name + ("/" if _is_folder(entry) else ""), "path"))
    return cursor - len(word), found


def _is_folder(entry):
    try:
        return entry.is_dir()
    except OSError:
        return False
