"""Paths of helpers: resolving a path argument, and reading and writing text there.

Owns `scheme://` mapping (E-44), `~`, and line splitting that keeps a file's own newlines. Must not know status
events.
"""

import io
import json
import os
import re
from pathlib import Path
from urllib.parse import unquote

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://(.*)", re.DOTALL)
_DRIVE = re.compile(r"[a-zA-Z]:")


def setting(name):
    """An environment setting: inkcell's own name wins over the `PI_` name."""
    return os.environ.get("INKCELL_" + name) or os.environ.get("PI_" + name)


def resolve(path):
    """The real `Path` for a helper's path argument."""
    if not isinstance(path, str):
        return Path(path)
    match = _SCHEME.fullmatch(path)
    if match is None:
        return Path(path).expanduser() if path.startswith("~") else Path(path)
    return _under_root(path, match.group(1).lower(), match.group(2))


def _under_root(path, scheme, rest):
    roots = _roots()
    if not roots.get(scheme):
        known = ", ".join(sorted(name + "://" for name in roots)) or "none"
        raise ValueError(
            "path %r: the scheme %s:// has no directory in this kernel (known: %s)"
            % (path, scheme, known)
        )
    # Decode percent escapes first, so that an encoded `..` is refused too.
    relative = unquote(rest).replace("\\", "/")
    unsafe = relative.startswith("/") or _DRIVE.match(relative) or "\0" in relative
    if unsafe or ".." in relative.split("/"):
        raise ValueError(
            "path %r: what follows %s:// must be relative and without '..'" % (path, scheme)
        )
    return Path(os.path.abspath(os.path.join(roots[scheme], relative)))


def _roots():
    try:
        roots = json.loads(setting("EVAL_LOCAL_ROOTS") or "{}")
    except ValueError:
        return {}
    if not isinstance(roots, dict):
        return {}
    return {name.lower(): root for name, root in roots.items() if isinstance(root, str)}


def read_text(path):
    """The text of a file, newlines as `\\n`."""
    return path.read_text(encoding="utf-8")


def write_text(path, content, mode="w"):
    """Write text exactly as given, making the parent directories."""
    if not isinstance(content, str):
        raise TypeError("content must be str, not %s" % type(content).__name__)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, mode, encoding="utf-8", newline="") as file:
        file.write(content)


def load(path):
    """The text of a file for editing: every newline and stray byte survives `save`."""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def save(path, text):
    """Write back the edited text from `load`."""
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)


def split_lines(text):
    """Lines without their ends, counted as editors and `grep` count them.

    `str.splitlines` also splits at form feeds and other rare characters, so its line numbers would disagree
    with every other tool.
    """
    return [line.rstrip("\r\n") for line in keep_lines(text)]


def keep_lines(text):
    """Lines with their ends, so that joining them gives the text again."""
    return list(io.StringIO(text, newline=""))


def newline_of(lines):
    """The line end that a file uses, from its first line."""
    first = lines[0] if lines else ""
    for end in ("\r\n", "\n", "\r"):
        if first.endswith(end):
            return end
    return "\n"
