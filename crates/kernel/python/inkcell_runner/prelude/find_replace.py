"""Find/Replace: `replace`, `sed`, `rsed`.

Owns substitution in files. Must not know how files are found. Does not write a file without a match.
"""

import re

from .paths import load, resolve, save
from .report import HITS, status
from .walk import is_binary, text_files


def replace(path, pattern, repl, regex=False):
    """Replace text in a file, a regular expression with regex=True; returns the count."""
    target = resolve(path)
    if regex:
        count = _substitute(target, re.compile(pattern), repl)
    else:
        if not pattern:
            raise ValueError("pattern is empty; name the text to replace")
        text = load(target)
        count = text.count(pattern)
        if count:
            save(target, text.replace(pattern, repl))
    status("replace", path=str(target), count=count)
    return count


def sed(path, pattern, repl, flags=0):
    """Replace a regular expression in a file; returns the count."""
    target = resolve(path)
    count = _substitute(target, re.compile(pattern, flags), repl)
    status("sed", path=str(target), count=count)
    return count


def rsed(pattern, repl, path=".", glob_pattern="*", flags=0, hidden=False):
    """Replace a regular expression in all matching files below a directory."""
    base = resolve(path)
    expression = re.compile(pattern, flags)
    total, changed = 0, []
    for file in text_files(base, glob_pattern, hidden):
        try:
            count = 0 if is_binary(file) else _substitute(file, expression, repl)
        except OSError:
            # A file that cannot be read or written does not stop the others.
            continue
        if count:
            total += count
            changed.append({"file": str(file), "count": count})
    status("rsed", path=str(base), count=total, files=len(changed), changed=changed[:HITS])
    return total


def _substitute(target, expression, repl):
    text, count = expression.subn(repl, load(target))
    if count:
        save(target, text)
    return count
