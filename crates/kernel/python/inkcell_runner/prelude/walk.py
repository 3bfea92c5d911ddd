"""Walks of a directory tree, as git sees it.

Owns which entries the walk visits, and their order. It omits ignored and hidden entries, always omits `.git`
and `node_modules`, and shows links without entering them. Must not know the purpose of the search.
"""

import os

from .ignore import Rules, wildcard

ALWAYS_SKIPPED = frozenset((".git", "node_modules"))


class Entry:
    """One visited entry."""

    __slots__ = ("name", "is_dir", "can_enter")

    def __init__(self, name, is_dir, is_link):
        self.name = name
        self.is_dir = is_dir
        # The walk does not enter links: they can lead out of the tree or in a circle.
        self.can_enter = is_dir and not is_link


class Folder:
    """A directory on the walk, with the rules for its entries."""

    __slots__ = ("path", "_rules")

    def __init__(self, path, rules=None):
        self.path = path
        self._rules = rules or Rules.at(path)

    def entries(self, hidden=False):
        """The visible entries, by name; raises OSError if the directory cannot be read."""
        found = []
        with os.scandir(self.path) as listing:
            for item in listing:
                if item.name in ALWAYS_SKIPPED or (item.name[0] == "." and not hidden):
                    continue
                is_link = item.is_symlink()
                try:
                    is_dir = item.is_dir()
                except OSError:
                    is_dir = False
                # To git, a link to a directory is not a directory.
                if not self._rules.ignores(item.name, is_dir and not is_link):
                    found.append(Entry(item.name, is_dir, is_link))
        found.sort(key=lambda entry: entry.name)
        return found

    def enter(self, entry):
        """The directory of an entry."""
        return Folder(self.path / entry.name, self._rules.below(entry.name))


def walk(base, hidden=False, max_depth=None):
    """Yield (relative parts, path, entry) below a directory, in order of the parts."""
    # The caller asked for the first directory, so its errors go to the caller.
    stack = [((), Folder(base), iter(Folder(base).entries(hidden)))]
    while stack:
        parts, folder, entries = stack[-1]
        entry = next(entries, None)
        if entry is None:
            stack.pop()
            continue
        here = parts + (entry.name,)
        yield here, folder.path / entry.name, entry
        if entry.can_enter and (max_depth is None or len(here) < max_depth):
            inner = folder.enter(entry)
            try:
                stack.append((here, inner, iter(inner.entries(hidden))))
            except OSError:
                # An unreadable directory, or one that vanished, hides only itself.
                continue


def matcher(pattern, anywhere):
    """A test of relative parts against a glob; `anywhere` lets it start at any depth."""
    pattern = pattern.replace("\\", "/") if os.sep == "\\" else pattern
    while pattern.startswith("./"):
        pattern = pattern[2:]
    pattern = pattern.rstrip("/")
    if not pattern or pattern.startswith("/"):
        raise ValueError("pattern %r: give a glob relative to path, such as '*.py'" % pattern)
    if anywhere and "/" not in pattern:
        by_name = wildcard(pattern, False).fullmatch
        return lambda parts: by_name(parts[-1]) is not None
    whole = wildcard("**/" + pattern if anywhere else pattern).fullmatch
    return lambda parts: whole("/".join(parts)) is not None


def wants_hidden(pattern, hidden):
    """Whether to visit hidden entries: if requested, or if the pattern names them."""
    return hidden or any(
        part.startswith(".") and part not in (".", "..") for part in pattern.split("/")
    )


def text_files(base, glob_pattern, hidden):
    """The files below a directory whose name fits, or the path itself if it is a file."""
    if base.is_file():
        yield base
        return
    fits = matcher(glob_pattern, True)
    for parts, path, entry in walk(base, wants_hidden(glob_pattern, hidden)):
        # Pipes and devices are not files to read: opening one can block for ever.
        if not entry.is_dir and fits(parts) and path.is_file():
            yield path


def is_binary(path):
    """Whether a file holds a NUL near its start, as git decides it."""
    with open(path, "rb") as file:
        return b"\0" in file.read(8000)
