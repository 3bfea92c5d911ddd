"""Line ops: `lines`, `delete_lines`, `delete_matching`, `insert_at`.

Owns editing by line number. Must not know where paths come from. All other lines keep their bytes, including
their line ends.
"""

import re

from .paths import keep_lines, load, newline_of, read_text, resolve, save, split_lines
from .report import preview, status


def lines(path, start=1, end=None):
    """Lines start to end of a file (from 1, both included)."""
    target = resolve(path)
    rows = split_lines(read_text(target))
    first, last = _span(len(rows), start, len(rows) if end is None else end)
    chosen = rows[first - 1 : last]
    text = "\n".join(chosen)
    status(
        "lines",
        path=str(target),
        start=first,
        end=last,
        count=len(chosen),
        preview=preview(text),
    )
    return text


def delete_lines(path, start, end=None):
    """Delete lines start to end of a file (from 1, both included); returns the count."""
    target = resolve(path)
    rows = keep_lines(load(target))
    first, last = _span(len(rows), start, start if end is None else end)
    count = max(0, last - first + 1)
    if count:
        save(target, "".join(rows[: first - 1] + rows[last:]))
    status("delete_lines", path=str(target), start=first, end=last, count=count)
    return count


def delete_matching(path, pattern, regex=True):
    """Delete the lines of a file that match; plain text with regex=False."""
    target = resolve(path)
    rows = keep_lines(load(target))
    if regex:
        matches = re.compile(pattern).search
    else:
        matches = lambda line: pattern in line  # noqa: E731
    kept = [row for row in rows if not matches(row.rstrip("\r\n"))]
    count = len(rows) - len(kept)
    if count:
        save(target, "".join(kept))
    status("delete_matching", path=str(target), pattern=pattern, count=count)
    return count


def insert_at(path, line, text, after=True):
    """Insert text after a line of a file, before it with after=False; returns the Path."""
    target = resolve(path)
    rows = keep_lines(load(target))
    newline = newline_of(rows)
    fresh = [row + newline for row in split_lines(text)]
    lowest = 0 if after else 1
    line = max(lowest, min(len(rows) + 1 - after, line))
    index = line if after else line - 1
    if fresh:
        if index == len(rows) and rows and not rows[-1].endswith(("\r", "\n")):
            rows[-1] += newline
        save(target, "".join(rows[:index] + fresh + rows[index:]))
    status(
        "insert_at",
        path=str(target),
        line=line,
        lines_inserted=len(fresh),
        position="after" if after else "before",
    )
    return target


def _span(total, start, end):
    """The named lines that exist; empty if the last comes before the first."""
    return max(1, start), min(total, end)
