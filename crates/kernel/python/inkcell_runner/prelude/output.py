"""Output: `output`, `display`, `log`, `phase`.

Owns reading stored output by id, and explicit displays. Must not know how frames are sent or where the session
keeps its index.
"""

import json
import os
import re
from pathlib import Path

from .paths import setting, split_lines
from .report import NAMES, session, status

_FORMATS = ("raw", "json", "stripped")
_SCHEME = "artifact://"
# The file endings that the host gives to outputs; text comes first.
_TEXT = ("md", "svg")
_ENDINGS = _TEXT + ("png", "jpg", "gif", "webp", "pdf", "bin")
_ANSI = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])"
)
_STEP = re.compile(r'\.?\[\s*(-?\d+)\s*\]|\.?\[\s*"([^"]*)"\s*\]|\.?([^.\[\]"\s]+)')
_RICH = (
    "_ipython_display_",
    "_repr_mimebundle_",
    "_repr_html_",
    "_repr_markdown_",
    "_repr_svg_",
    "_repr_png_",
    "_repr_jpeg_",
    "_repr_json_",
    "_repr_latex_",
)


def display(*values, **options):
    """Show values: plain dicts, lists and tuples as JSON, others like IPython's display."""
    from ..displays import display as show

    if options:
        return show(*values, **options)
    for value in values:
        if _is_plain(value):
            bundle = {"application/json": value, "text/plain": repr(value)}
            session().display(bundle, {})
        else:
            show(value)


def _is_plain(value):
    """Whether a value is a container that JSON can hold and that has no rich representation of its own."""
    if not isinstance(value, (dict, list, tuple)):
        return False
    if any(hasattr(type(value), name) for name in _RICH):
        return False
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def log(message):
    """Send the host a message outside the cell's output."""
    status("log", message=str(message))


def phase(title):
    """Name the current phase of the work, for the host to show."""
    status("phase", title=str(title))


def output(*ids, format="raw", query=None, offset=None, limit=None):
    """Stored output by id, complete: text, or a dict with format='json'; a list for several ids.

    You can write an id as 'artifact://<id>'. Content that is not text, such as a picture, comes as bytes.
    `format='stripped'` removes colour codes. `query` picks from JSON output, such as '.files[0].name'. `offset`
    (from 1) and `limit` pick lines.
    """
    store = _store()
    if not ids:
        _refuse(ValueError, "no output id given; name at least one")
    if format not in _FORMATS:
        known = ", ".join(map(repr, _FORMATS))
        _refuse(ValueError, "format is %r; it can be %s" % (format, known))
    if query and (offset is not None or limit is not None):
        _refuse(ValueError, "query cannot be combined with offset or limit")
    wanted = [_name(given) for given in ids]
    contents = {name: store.read(name) for name in wanted}
    missing = [name for name, content in contents.items() if content is None]
    if missing:
        _not_found(missing, sorted(map(str, store.ids())))
    results = [_select(name, contents[name], format, query, offset, limit) for name in wanted]
    sizes = [len(result["content"]) for result in results]
    if len(results) == 1:
        status("output", id=wanted[0], chars=sizes[0])
        return results[0] if format == "json" else results[0]["content"]
    status("output", count=len(results), total_chars=sum(sizes))
    if format == "json":
        return results
    return [{"id": result["id"], "content": result["content"]} for result in results]


def _name(given):
    """The id in a reference."""
    name = str(given)
    return name[len(_SCHEME) :] if name.startswith(_SCHEME) else name


def _refuse(kind, text, **fields):
    status("output", error=text, **fields)
    raise kind(text)


def _not_found(missing, available):
    text = "Output not found: " + ", ".join(missing)
    if available:
        text += "\n\nAvailable outputs: " + ", ".join(available[:NAMES])
        if len(available) > NAMES:
            text += " (and %d more)" % (len(available) - NAMES)
    status("output", error=text, not_found=missing, available_count=len(available))
    raise FileNotFoundError(text)


def _select(wanted, content, format, query, offset, limit):
    result = {"id": wanted}
    if isinstance(content, _Binary):
        if format != "raw" or query or offset is not None or limit is not None:
            text = "output %s is a file %s, not text; output(%r) gives its bytes"
            _refuse(ValueError, text % (wanted, content.name, wanted), id=wanted)
        result["content"] = bytes(content)
        return result
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    if query:
        try:
            value = json.loads(text)
        except ValueError as error:
            _refuse(ValueError, "output %s is not JSON: %s" % (wanted, error), id=wanted)
        text = json.dumps(_pick(value, query), indent=2, ensure_ascii=False)
        result["query"] = query
    elif offset is not None or limit is not None:
        rows = split_lines(text)
        start = max(1, offset or 1)
        if start > len(rows):
            _refuse(
                ValueError,
                "offset %d is past the end of output %s (%d lines)" % (start, wanted, len(rows)),
                id=wanted,
            )
        stop = len(rows) if limit is None else min(len(rows), start - 1 + max(0, limit))
        result["range"] = {"start_line": start, "end_line": stop, "total_lines": len(rows)}
        text = "\n".join(rows[start - 1 : stop])
    if format == "stripped":
        text = _ANSI.sub("", text)
    result.update(line_count=len(split_lines(text)), char_count=len(text), content=text)
    return result


def _pick(value, query):
    """Follow a path of `.key`, `[0]` and `["key"]` steps; None if it leads nowhere."""
    path, at = query.strip(), 0
    while at < len(path) and path[at:] != ".":
        step = _STEP.match(path, at)
        if step is None:
            text = "query %r is not understood at %r; use .key, [0] or [\"key\"]"
            _refuse(ValueError, text % (query, path[at:]))
        at = step.end()
        index, quoted, bare = step.groups()
        try:
            if index is not None:
                value = value[int(index)] if isinstance(value, list) else None
            else:
                key = bare if quoted is None else quoted
                value = value.get(key) if isinstance(value, dict) else None
        except IndexError:
            value = None
    return value


class _Binary(bytes):
    """The content of a file that is not text."""

    name = ""


class _Directory:
    """Outputs as files `<id>.md` in the session's directory; pictures have their own endings."""

    def __init__(self, path):
        self._path = Path(path)

    def read(self, wanted):
        # An id is a name and must not lead out of the directory.
        if os.path.basename(wanted) != wanted or wanted in ("", ".", "..") or "\0" in wanted:
            return None
        for ending in _ENDINGS:
            name = "%s.%s" % (wanted, ending)
            try:
                content = (self._path / name).read_bytes()
            except OSError:
                continue
            if ending in _TEXT:
                return content
            binary = _Binary(content)
            binary.name = name
            return binary
        return None

    def ids(self):
        paths = (path for ending in _ENDINGS for path in self._path.glob("*." + ending))
        return {path.stem for path in paths}


def _store():
    store = session().artifacts
    if store is not None:
        return store
    directory = setting("ARTIFACTS_DIR") or os.environ.get("ARTIFACTS")
    if not directory:
        _refuse(RuntimeError, "no artifacts directory: this session stores no output")
    if not os.path.isdir(directory):
        _refuse(RuntimeError, "no artifacts directory: %s does not exist" % directory)
    return _Directory(directory)
