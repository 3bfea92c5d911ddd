"""Text: `head`, `tail`, `wc`, `sort_lines`, `sort`, `uniq`, `cols`, `counter`.

Owns work on text in memory. Must not know files.
"""

from collections import Counter
from itertools import groupby

from .paths import split_lines
from .report import HITS, preview, status


def head(text, n=10):
    """First n lines of a text."""
    return _part("head", split_lines(text)[: max(0, n)])


def tail(text, n=10):
    """Last n lines of a text."""
    rows = split_lines(text)
    return _part("tail", rows[max(0, len(rows) - max(0, n)) :])


def _part(op, rows):
    text = "\n".join(rows)
    status(op, lines=len(rows), preview=preview(text))
    return text


def wc(text):
    """Number of lines, words and characters as a dict."""
    counts = {"lines": len(split_lines(text)), "words": len(text.split()), "chars": len(text)}
    status("wc", **counts)
    return counts


def sort_lines(text, reverse=False, unique=False):
    """Lines of a text sorted, each once with unique=True."""
    return _sorted("sort_lines", text, reverse, unique)


def sort(text, reverse=False, unique=False):
    """Lines of a text sorted, each once with unique=True."""
    return _sorted("sort", text, reverse, unique)


def _sorted(op, text, reverse, unique):
    rows = split_lines(text)
    rows = sorted(set(rows) if unique else rows, reverse=reverse)
    status(op, lines=len(rows), unique=unique, reverse=reverse)
    return "\n".join(rows)


def uniq(text, count=False):
    """Text without repeated neighbouring lines; (count, line) pairs with count=True."""
    groups = [(len(list(same)), line) for line, same in groupby(split_lines(text))]
    status("uniq", groups=len(groups), count_mode=count)
    return groups if count else "\n".join(line for _, line in groups)


def cols(text, *indices, sep=None):
    """Chosen columns of each line (from 0), joined by a space."""
    rows = []
    for line in split_lines(text):
        parts = line.split(sep or None)
        chosen = [parts[i] for i in indices if -len(parts) <= i < len(parts)]
        rows.append(" ".join(chosen))
    status("cols", lines=len(rows), columns=list(indices))
    return "\n".join(rows)


def counter(items, limit=None, reverse=True):
    """How often each line or item occurs, as (count, item) pairs, most frequent first."""
    counts = Counter(split_lines(items) if isinstance(items, str) else items)
    pairs = [(count, item) for item, count in counts.items()]
    try:
        pairs.sort(reverse=reverse)
    except TypeError:
        # Items of several types have no common order, but their texts have one.
        pairs.sort(key=lambda pair: (pair[0], str(pair[1])), reverse=reverse)
    if limit is not None:
        pairs = pairs[: max(0, limit)]
    status(
        "counter",
        unique=len(counts),
        total=sum(counts.values()),
        top=[[count, str(item)] for count, item in pairs[:HITS]],
    )
    return pairs
