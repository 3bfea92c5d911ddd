"""Exceptions as text: as IPython shows them, once coloured for the file and once plain.

Owns the layout. It must never fail: it describes even an exception whose own text cannot be computed, and the
size of a description is bounded.
"""

import os
import sys

_RULE = "-" * 75
# The number of source pieces before and after the line of a frame: for the exception itself, and for the
# exceptions that led to it.
_CONTEXT, _LESS_CONTEXT = 2, 1
_MAX_FRAMES = 40
_MAX_CHAIN = 10
_MAX_TEXT = 100_000

_RED, _GREEN, _CYAN, _BLUE, _OFF = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[34m", "\x1b[39m"


class _Text:
    """Builds a text in two forms at once."""

    def __init__(self):
        self.coloured, self.plain = [], []

    def add(self, text, colour=None):
        self.plain.append(text)
        self.coloured.append(text if colour is None else colour + text + _OFF)
        return self

    def parts(self):
        return "".join(self.coloured), "".join(self.plain)


def _text(error):
    try:
        text = str(error)
    except BaseException as problem:
        text = "<no text: its __str__ raised %s>" % type(problem).__name__
    if len(text) > _MAX_TEXT:
        text = text[:_MAX_TEXT] + "… [%d characters more]" % (len(text) - _MAX_TEXT)
    return text


def describe(error, session):
    """Class, message, coloured lines, plain lines."""
    name, value = type(error).__name__, _text(error)
    again = getattr(sys, "last_value", None) is error
    _keep(error)
    # A user who asks for the traceback again wants all of it.
    if isinstance(error, SystemExit) and not again:
        note = _Text().add("An exception has occurred, use %tb to see the full traceback.\n")
        parts = [note, _Text().add(name, _RED).add(": %s\n" % value)]
    elif name == "UsageError":
        parts = [_Text().add(name, _RED).add(": %s" % value)]
    else:
        try:
            session.executor.publish_sources()
            mode = getattr(session.shell_object, "xmode", None)
            parts = _listed(error, mode) if mode in ("Plain", "Minimal") else _chain(error)
        except Exception as problem:
            from .execute import bare

            parts = [_Text().add(bare(error, session.executor.sources)[2])]
            parts.append(_Text().add("(the traceback could not be laid out: %s)" % type(problem).__name__))
    pairs = [part.parts() for part in parts]
    return name, value, [coloured for coloured, _ in pairs], [plain for _, plain in pairs]


def _keep(error):
    """Stores the error where `%tb` and Python's own debugger look for it."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__


def _chain(error):
    if isinstance(error, SyntaxError):
        return _listed(error, "Plain")
    chain, seen = [], set()
    while error is not None and id(error) not in seen and len(chain) < _MAX_CHAIN:
        seen.add(id(error))
        chain.append(error)
        if error.__cause__ is not None or error.__suppress_context__:
            error = error.__cause__
        else:
            error = error.__context__
    parts = [_Text().add(_RULE, _RED)]
    for at in range(len(chain) - 1, -1, -1):
        parts += _one(chain[at], _LESS_CONTEXT if at else _CONTEXT)
        if at:
            parts.append(_Text().add(_link(chain[at - 1])))
    return parts


def _link(error):
    if error.__cause__ is not None:
        return "\nThe above exception was the direct cause of the following exception:\n"
    return "\nDuring handling of the above exception, another exception occurred:\n"


def _one(error, context):
    name = type(error).__name__
    head = "Traceback (most recent call last)".rjust(75 - len(name))
    parts = [_Text().add(name, _RED).add(head)]
    for frame in _shortened(_visible(_frames(error.__traceback__))):
        if isinstance(frame, str):
            parts.append(_Text().add("    ").add(frame, _RED).add("\n"))
        else:
            parts.append(_frame(*frame, context))
    parts.append(_Text().add(name, _RED).add(": " + _text(error)))
    notes = getattr(error, "__notes__", None) or ()
    for note in notes if isinstance(notes, (list, tuple)) else (repr(notes),):
        parts.append(_Text().add(_text(note)))
    return parts + _members(error)


def _members(error):
    """The exceptions of a group, with those of nested groups, in the order in which Python shows them."""
    if not isinstance(getattr(error, "exceptions", None), (list, tuple)):
        return []
    import traceback

    shown = "".join(traceback.format_exception(type(error), error, None, chain=False))
    start = shown.find("  +-+--")
    if start >= 0 and len(shown) <= _MAX_TEXT:
        return [_Text().add(shown[start:].rstrip("\n"))]
    # Before 3.11 Python has no groups, and a library's own class may hold anything.
    return [
        _Text().add("  %d. %s: %s" % (at, type(one).__name__, _text(one)))
        for at, one in enumerate(error.exceptions[:_MAX_CHAIN], 1)
    ]


def _frames(traceback):
    """(frame, line) of the user's frames, without those of the runner, its loop and IPython."""
    own = os.path.dirname(__file__) + os.sep
    frames, is_run_by_us = [], False
    while traceback is not None:
        frame = traceback.tb_frame
        module = str(frame.f_globals.get("__name__")).split(".")[0]
        ours = module == "IPython" or frame.f_code.co_filename.startswith(own)
        is_run_by_us = is_run_by_us or ours
        # The loop that runs an awaiting cell stands above all frames of the user.
        if not ours and not (module == "asyncio" and is_run_by_us and not frames):
            frames.append((frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return frames


def _visible(frames):
    """Drops frames that hide themselves; the last frame always stays."""
    shown, hidden = [], 0
    for at, (frame, line) in enumerate(frames):
        if at < len(frames) - 1 and frame.f_locals.get("__tracebackhide__"):
            hidden += 1
            continue
        if hidden:
            shown.append("[... skipping hidden %d frame]" % hidden)
        hidden = 0
        shown.append((frame, line))
    return shown


def _shortened(frames):
    """Recursion shown once: of a place that occurs more than three times, the first two and the last stay."""
    places = {}
    for at, frame in enumerate(frames):
        if not isinstance(frame, str):
            places.setdefault((frame[0].f_code, frame[1]), []).append(at)
    kept = {at for at, frame in enumerate(frames) if isinstance(frame, str)}
    for found in places.values():
        kept.update(found if len(found) <= 3 else found[:2] + found[-1:])
    if len(kept) > _MAX_FRAMES:
        half = _MAX_FRAMES // 2
        order = sorted(kept)
        kept = set(order[:half] + order[-half:])
    shown, skipped = [], []
    for at, frame in enumerate(frames):
        if at not in kept:
            skipped.append(frame)
            continue
        if skipped:
            shown.append(_similar(skipped))
            skipped = []
        shown.append(frame)
    return shown


def _similar(frames):
    counts = {}
    for frame in frames:
        if not isinstance(frame, str):
            place = (frame[0].f_code, frame[1])
            counts[place] = counts.get(place, 0) + 1
    if len(counts) > 5:
        return "[... skipping %d frames]" % len(frames)
    from .excerpts import qualified_name

    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0][0].co_name))
    told = [
        "%s at line %d (%d times)" % (qualified_name(code, _lines(code.co_filename)), line, count)
        for (code, line), count in ordered
    ]
    return "[... skipping similar frames: %s]" % ", ".join(told)


def _lines(filename, namespace=None):
    import linecache

    return linecache.getlines(filename, namespace)


def _place(text, filename, line):
    if filename.startswith("<cell ") and filename.endswith(">"):
        return text.add("Cell ", _CYAN).add("In[%s]" % filename[6:-1], _GREEN).add(", line %d" % line, _GREEN)
    home = os.path.expanduser("~")
    shown = _absolute(filename)
    if shown.startswith(home + os.sep):
        shown = "~" + shown[len(home):]
    return text.add("File ", _CYAN).add("%s:%d" % (shown, line), _GREEN)


def _absolute(filename):
    """The absolute path of a relative file name; compiled extensions have relative names."""
    if os.path.isabs(filename) or filename[:1] == "<":
        return filename
    for folder in [".", *sys.path]:
        try:
            if os.path.isfile(os.path.join(folder, filename)):
                return os.path.abspath(os.path.join(folder, filename))
        except Exception:
            # `sys.path` may contain any object.
            continue
    return filename


def _parameters(frame):
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    stars = []
    for flag, star in ((0x04, "*"), (0x08, "**")):
        if code.co_flags & flag:
            stars.append(star + code.co_varnames[count])
            count += 1
    if any(name.lstrip("*") not in frame.f_locals for name in names + stars):
        return "(***failed resolving arguments***)"
    return "(%s)" % ", ".join(names + stars)


def _frame(frame, line, context):
    from .excerpts import excerpt, qualified_name

    code = frame.f_code
    lines = _lines(code.co_filename, frame.f_globals)
    text = _place(_Text(), code.co_filename, line)
    if code.co_name != "<module>":
        text.add(", in ").add(qualified_name(code, lines), _CYAN).add(_parameters(frame), _BLUE)
    text.add("\n")
    for shown in excerpt(lines, code, line, context, context):
        if shown is None:
            # IPython continues in the same line.
            text.add("   (...)", _GREEN)
        elif shown[0] == line:
            text.add("%s> " % ("-" * (5 - len(str(line)))), _GREEN).add(str(line), _GREEN).add(" %s\n" % shown[1])
        else:
            text.add("%7d" % shown[0], _GREEN).add(" %s\n" % shown[1])
    return text


def _listed(error, mode):
    """The short form: a line of source for each frame, or no frames at all with `Minimal`."""
    parts = []
    frames = _shortened(_visible(_frames(error.__traceback__))) if mode == "Plain" else []
    if frames:
        parts.append(_Text().add("Traceback (most recent call last):\n"))
    for frame in frames:
        if isinstance(frame, str):
            parts.append(_Text().add("    %s\n" % frame))
            continue
        code, line = frame[0].f_code, frame[1]
        text = _place(_Text().add("  "), code.co_filename, line)
        if code.co_name != "<module>":
            text.add(" in ").add(code.co_name, _CYAN)
        source = _line(code.co_filename, line, frame[0].f_globals).strip()
        parts.append(text.add("\n    %s\n" % source if source else "\n"))
    text, message = _Text(), _text(error)
    if isinstance(error, SyntaxError):
        _wrong_source(error, text)
        message = error.msg or message
    parts.append(text.add(type(error).__name__, _RED).add(": %s\n" % message))
    return parts


def _line(filename, line, namespace=None):
    lines = _lines(filename, namespace)
    return lines[line - 1] if 0 < line <= len(lines) else ""


def _wrong_source(error, text):
    """The source text of a syntax error, with a mark below."""
    filename, line = error.filename or "<unknown>", error.lineno or 0
    _place(text.add("  "), filename, line).add("\n")
    # An error found while compiling a tree comes without its text.
    source = (error.text or _line(filename, line)).rstrip("\n")
    if source:
        stripped = source.lstrip()
        text.add("    %s\n" % stripped, _RED)
        if error.offset is not None:
            # Zero means the end of the line, where something is missing.
            before = source[len(source) - len(stripped): error.offset - 1]
            text.add("    %s^\n" % "".join(char if char.isspace() else " " for char in before))
