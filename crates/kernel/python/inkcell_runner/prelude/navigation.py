"""Navigation: `pwd`, `cd`, `ls`, `tree`, `stat`.

Owns the drawing of a directory tree. Must not know how ignore rules are read.
"""

import os
from datetime import datetime
from pathlib import Path

from .paths import resolve
from .report import NAMES, TREE_PREVIEW, preview, status
from .walk import Folder


def pwd():
    """Current directory as a Path."""
    path = Path.cwd()
    status("pwd", path=str(path))
    return path


def cd(path):
    """Change the current directory; returns the new one."""
    target = resolve(os.path.expanduser(path)).resolve()
    os.chdir(target)
    status("cd", path=str(target))
    return target


def ls(path="."):
    """Entries of a directory as sorted Paths."""
    base = resolve(path)
    entries = sorted(base.iterdir())
    items = [entry.name + ("/" if entry.is_dir() else "") for entry in entries[:NAMES]]
    status("ls", path=str(base), count=len(entries), items=items)
    return entries


def tree(path=".", max_depth=3, show_hidden=False):
    """Directory tree as text, without the entries that .gitignore excludes."""
    base = resolve(path)
    rows = [str(base) + "/"]
    _draw(Folder(base), "", max_depth, show_hidden, rows)
    text = "\n".join(rows)
    status("tree", path=str(base), entries=len(rows) - 1, preview=preview(text, TREE_PREVIEW))
    return text


def _draw(folder, indent, depth, show_hidden, rows):
    entries = folder.entries(show_hidden)
    entries.sort(key=lambda entry: (not entry.is_dir, entry.name.lower(), entry.name))
    for number, entry in enumerate(entries, 1):
        last = number == len(entries)
        mark = "/" if entry.is_dir else ""
        rows.append(indent + ("└── " if last else "├── ") + entry.name + mark)
        if depth > 1 and entry.can_enter:
            try:
                _draw(
                    folder.enter(entry),
                    indent + ("    " if last else "│   "),
                    depth - 1,
                    show_hidden,
                    rows,
                )
            except OSError:
                # One unreadable directory must not hide the rest of the tree.
                rows[-1] += " (unreadable)"


def stat(path):
    """Size, kind, time and mode of a file or directory as a dict."""
    target = resolve(path)
    info = target.stat()
    answer = {
        "path": str(target),
        "size": info.st_size,
        "is_file": target.is_file(),
        "is_dir": target.is_dir(),
        "mtime": datetime.fromtimestamp(info.st_mtime).isoformat(),
        "mode": oct(info.st_mode),
    }
    status("stat", **{key: answer[key] for key in ("path", "size", "is_dir", "mtime")})
    return answer
