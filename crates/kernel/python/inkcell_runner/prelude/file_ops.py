"""File ops: `mkdir`, `rm`, `mv`, `cp`.

Owns making, removing and moving whole entries. Must not know their content.
"""

import os
import shutil
from pathlib import Path

from .paths import resolve
from .report import status


def mkdir(path):
    """Make a directory and its parents; returns the Path."""
    target = resolve(path)
    target.mkdir(parents=True, exist_ok=True)
    status("mkdir", path=str(target))
    return target


def rm(path, recursive=False):
    """Remove a file, or a directory with recursive=True; never raises."""
    target = resolve(path)
    try:
        # Remove only the link, even if it leads to a directory.
        if target.is_dir() and not target.is_symlink():
            if not recursive:
                status("rm", path=str(target), error="directory, use recursive=True")
                return
            shutil.rmtree(target)
            status("rm", path=str(target), recursive=True)
        elif os.path.lexists(target):
            target.unlink()
            status("rm", path=str(target))
        else:
            status("rm", path=str(target), error="missing")
    except OSError as error:
        status("rm", path=str(target), error=error.strerror or str(error))


def mv(src, dst):
    """Move or rename; moves into dst if that is a directory. Returns the new Path."""
    source, target = resolve(src), resolve(dst)
    target.parent.mkdir(parents=True, exist_ok=True)
    moved = Path(shutil.move(str(source), str(target)))
    status("mv", src=str(source), dst=str(moved))
    return moved


def cp(src, dst):
    """Copy a file or directory, merging into an existing one. Returns the new Path."""
    source, target = resolve(src), resolve(dst)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        made = Path(shutil.copytree(source, target, dirs_exist_ok=True))
    else:
        made = Path(shutil.copy2(source, target))
    status("cp", src=str(source), dst=str(made))
    return made
