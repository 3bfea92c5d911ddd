"""Finds lines that name a magic without its percent sign: `pip install x`, `ls -l`, `pwd`.

Owns the rule, which is IPython's: the cell has one line, and its first word names only a magic. A name that the user
or Python defines keeps that meaning. A helper of the prelude keeps its meaning where the line calls it.
"""

import builtins
import keyword
import re

_LINE = re.compile(r"\s*([^\W\d]\w*)[ \t]*(.*?)\s*\Z", re.DOTALL)
_MISSING = object()


def is_free(session, name):
    """Whether only the kernel gives a name its meaning."""
    value = session.namespace.get(name, _MISSING)
    if value is _MISSING:
        return name not in builtins.__dict__ and not keyword.iskeyword(name)
    return is_helper(session, name)


def is_helper(session, name):
    """Whether a name is a helper that the user has not redefined."""
    value = session.namespace.get(name, _MISSING)
    return value is not _MISSING and session.hidden.get(name) is value


def is_python(name_end, rest, is_helper):
    """Whether the text right after a name, or after blanks, makes it Python: a call of a helper, an assignment."""
    # `cd ..` and `ls (a)` are magics; an attribute and a call follow their name at once. IPython has no helpers, and
    # reads `ls(a)` as the magic.
    return name_end == "." or rest[:1] in ("=", ",") or (is_helper and name_end in ("(", "["))


def find(session, source):
    """Returns name and line of the magic that a cell of one line stands for, or None."""
    found = _LINE.match(source)
    if found is None or "\n" in found.group(2):
        return None
    name, rest = found.groups()
    if not is_free(session, name):
        return None
    if is_python(source[found.end(1): found.end(1) + 1], rest, is_helper(session, name)):
        return None
    shell = session.shell
    if not shell.magics_manager.auto_magic or shell.find_line_magic(name) is None:
        return None
    return name, rest
