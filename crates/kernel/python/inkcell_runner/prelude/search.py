"""Search: `find`, `glob_files`, `grep`, `rgrep`.

Owns matching of names and lines. Must not know ignore rules: the walk has applied them.
"""

import re

from .paths import resolve, split_lines
from .report import HIT_TEXT, HITS, names, status
from .walk import is_binary, matcher, text_files, walk, wants_hidden

_TYPES = ("file", "dir", "any")


def find(
    pattern,
    path=".",
    type="file",
    limit=1000,
    hidden=False,
    sort_by_mtime=False,
    maxdepth=None,
    mindepth=None,
):
    """Paths below a directory that match a glob; honours .gitignore.

    `type` is 'file', 'dir' or 'any'. Depth 1 means entries directly in `path`. With `sort_by_mtime` the newest
    come first, and `limit` keeps the newest.
    """
    if type not in _TYPES:
        raise ValueError("type is %r; it can be %s" % (type, ", ".join(map(repr, _TYPES))))
    base = resolve(path).resolve()
    fits = matcher(pattern, True)
    found = []
    for parts, entry_path, entry in walk(base, wants_hidden(pattern, hidden), maxdepth):
        if not sort_by_mtime and len(found) >= limit:
            break
        if type != "any" and entry.is_dir != (type == "dir"):
            continue
        if (mindepth is None or len(parts) >= mindepth) and fits(parts):
            found.append(entry_path)
    if sort_by_mtime:
        found.sort(key=_mtime, reverse=True)
        del found[limit:]
    status("find", pattern=pattern, path=str(base), count=len(found), matches=names(found))
    return found


def _mtime(path):
    try:
        return path.lstat().st_mtime
    except OSError:
        # The entry vanished after the walk saw it; sort it as the oldest.
        return float("-inf")


def glob_files(pattern, path=".", hidden=False):
    """Paths that match a glob, no deeper than the glob says; honours .gitignore."""
    base = resolve(path)
    fits = matcher(pattern, False)
    depth = None if "**" in pattern else pattern.count("/") + 1
    found = [
        entry_path
        for parts, entry_path, _ in walk(base, wants_hidden(pattern, hidden), depth)
        if fits(parts)
    ]
    status("glob", pattern=pattern, path=str(base), count=len(found), matches=names(found))
    return found


def grep(pattern, path, ignore_case=False, literal=False, context=0):
    """Lines of a file that match, as (line, text) pairs, with context lines around."""
    target = resolve(path)
    matches = _matcher(pattern, ignore_case, literal)
    rows = _rows(target)
    matched = [number for number, row in enumerate(rows, 1) if matches(row)]
    shown = matched
    if context > 0:
        near = {number + step for number in matched for step in range(-context, context + 1)}
        shown = sorted(number for number in near if 1 <= number <= len(rows))
    hits = [(number, rows[number - 1]) for number in shown]
    status(
        "grep",
        pattern=pattern,
        path=str(target),
        count=len(matched),
        hits=[{"line": number, "text": row[:HIT_TEXT]} for number, row in hits[:HITS]],
    )
    return hits


def rgrep(
    pattern,
    path=".",
    glob_pattern="*",
    ignore_case=False,
    literal=False,
    limit=100,
    hidden=False,
):
    """Matching lines of all files below a directory, as (path, line, text); honours .gitignore."""
    base = resolve(path)
    matches = _matcher(pattern, ignore_case, literal)
    hits = []
    for file in text_files(base, glob_pattern, hidden):
        if len(hits) >= limit:
            break
        hits.extend(_hits(file, matches, limit - len(hits)))
    status(
        "rgrep",
        pattern=pattern,
        path=str(base),
        count=len(hits),
        hits=[
            {"file": str(file), "line": number, "text": row[:HIT_TEXT]}
            for file, number, row in hits[:HITS]
        ],
    )
    return hits


def _hits(file, matches, limit):
    found = []
    try:
        rows = [] if is_binary(file) else _rows(file)
    except OSError:
        # A file that cannot be read has no hits; the search goes on with the others.
        return found
    for number, row in enumerate(rows, 1):
        if len(found) >= limit:
            break
        if matches(row):
            found.append((file, number, row))
    return found


def _rows(path):
    # A search may read any file, so bytes that are not UTF-8 become replacement characters instead of an error.
    return split_lines(path.read_text(encoding="utf-8", errors="replace"))


def _matcher(pattern, ignore_case, literal):
    text = re.escape(pattern) if literal else pattern
    return re.compile(text, re.IGNORECASE if ignore_case else 0).search
