"""File I/O: `read`, `write`, `append`, `cat`, `touch`.

Owns whole-file reading and writing. Must not know about editing in place.
"""

from .paths import keep_lines, read_text, resolve, write_text
from .report import preview, status


def read(path, offset=1, limit=None):
    """Text of a file; offset is the first line (from 1), limit how many lines."""
    target = resolve(path)
    text = read_text(target)
    if offset > 1 or limit is not None:
        start = max(0, offset - 1)
        stop = None if limit is None else start + max(0, limit)
        text = "".join(keep_lines(text)[start:stop])
    status("read", path=str(target), chars=len(text), preview=preview(text))
    return text


def write(path, content):
    """Write text to a file, making its directories; returns the Path."""
    target = resolve(path)
    write_text(target, content)
    status("write", path=str(target), chars=len(content))
    return target


def append(path, content):
    """Add text to the end of a file, making it if needed; returns the Path."""
    target = resolve(path)
    write_text(target, content, mode="a")
    status("append", path=str(target), chars=len(content))
    return target


def cat(*paths, separator="\n"):
    """Texts of several files joined by the separator."""
    text = separator.join(read_text(resolve(path)) for path in paths)
    status("cat", files=len(paths), chars=len(text), preview=preview(text))
    return text


def touch(path):
    """Make an empty file, or set its time to now; returns the Path."""
    target = resolve(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch()
    status("touch", path=str(target))
    return target
