"""A line that names a magic without its percent sign: `pip install x`, `ls -l`, `pwd`.

Owns the rule, which is IPython's: a cell of one line whose first word is a magic and nothing else. A name that
the user or Python gave a meaning is that; one of the prelude's helpers is, where it is called.
"""

import builtins
import keyword
import re

_LINE = re.compile(r"\s*([^\W\d]\w*)[ \t]*(.*?)\s*\Z", re.DOTALL)
_MISSING = object()


def is_free(session, name):
    """Whether a name has no meaning but those the kernel gave it."""
    value = session.namespace.get(name, _MISSING)
    if value is _MISSING:
        return name not in builtins.__dict__ and not keyword.iskeyword(name)
    return is_helper(session, name)


def is_helper(session, name):
    """Whether a name is that of a helper, which the user has not taken for something else."""
    value = session.namespace.get(name, _MISSING)
    return value is not _MISSING and session.hidden.get(name) is value


def is_python(name_end, rest, is_helper):
    """Whether what stands right after a name, and after blanks, makes it Python: a call of a helper, an assignment."""
    # `cd ..` and `ls (a)` are magics; an attribute and a call follow their name at once. IPython knows no helpers, and
    # takes `ls(a)` for the magic.
    return name_end == "." or rest[:1] in ("=", ",") or (is_helper and name_end in ("(", "["))


def find(session, source):
    """The name and the line of the magic that a cell of one line stands for, or None."""
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
