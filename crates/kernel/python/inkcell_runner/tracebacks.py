"""Exceptions as text: as IPython shows them, once coloured for the file and once plain.

Owns the layout. It must never fail itself: an exception whose own text cannot be had is still
described, and a description has a bounded size.
"""

import os
import sys

_RULE = "-" * 75
_CONTEXT = 2
_MAX_FRAMES = 40
_MAX_CHAIN = 10
_MAX_TEXT = 100_000

_RED, _GREEN, _CYAN, _BOLD, _OFF = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1m", "\x1b[39m"


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
    if isinstance(error, SystemExit):
        note = "An exception has occurred, use %tb to see the full traceback.\n"
        return name, value, [note, "%s%s%s: %s" % (_RED, name, _OFF, value)], [note, "%s: %s" % (name, value)]
    if name == "UsageError":
        return name, value, ["%s%s%s: %s" % (_RED, name, _OFF, value)], ["%s: %s" % (name, value)]
    try:
        coloured, plain = _chain(error, session)
    except Exception as problem:
        line = "%s: %s" % (name, value)
        plain = [line, "(the traceback could not be laid out: %s)" % type(problem).__name__]
        coloured = plain
    return name, value, coloured, plain


def _chain(error, session):
    session.executor.publish_sources()
    parts = []
    seen = set()
    while error is not None and id(error) not in seen and len(parts) < _MAX_CHAIN:
        seen.add(id(error))
        parts.append((error, _link(error)))
        cause = error.__cause__
        if cause is None and not error.__suppress_context__:
            cause = error.__context__
        error = cause
    coloured, plain = [], []
    for at, (one, _) in enumerate(reversed(parts)):
        rich, bare = _one(one, session)
        coloured += rich
        plain += bare
        position = len(parts) - 1 - at
        if position > 0:
            link = parts[position - 1][1]
            coloured.append("\n%s\n" % link)
            plain.append("\n%s\n" % link)
    return coloured, plain


def _link(error):
    if error.__cause__ is not None:
        return "The above exception was the direct cause of the following exception:"
    return "During handling of the above exception, another exception occurred:"


def _one(error, session):
    name = type(error).__name__
    if isinstance(error, SyntaxError):
        return _syntax_error(error, session)
    head = "%s%*s" % (name, 75 - len(name), "Traceback (most recent call last)")
    coloured = [_RED + _RULE + _OFF, "%s%s%s%*s" % (_RED, name, _OFF, 75 - len(name), "Traceback (most recent call last)")]
    plain = [_RULE, head]
    frames = _frames(error.__traceback__)
    if len(frames) > _MAX_FRAMES:
        dropped = len(frames) - _MAX_FRAMES
        half = _MAX_FRAMES // 2
        frames = frames[:half] + [dropped] + frames[-half:]
    for frame in frames:
        if isinstance(frame, int):
            line = "    [... skipping %d frames ...]" % frame
            coloured.append(line)
            plain.append(line)
        else:
            rich, bare = _frame(*frame)
            coloured.append(rich)
            plain.append(bare)
    last = _text(error)
    coloured.append("%s%s%s: %s" % (_RED, name, _OFF, last))
    plain.append("%s: %s" % (name, last))
    for note in getattr(error, "__notes__", None) or ():
        coloured.append(str(note))
        plain.append(str(note))
    for at, inner in enumerate(getattr(error, "exceptions", ()) or (), 1):
        if isinstance(inner, BaseException) and at <= _MAX_CHAIN:
            line = "  %d. %s: %s" % (at, type(inner).__name__, _text(inner))
            coloured.append(line)
            plain.append(line)
    return coloured, plain


def _frames(traceback):
    """File, line, function of the user's frames; those of the runner are left out."""
    own = os.path.dirname(__file__) + os.sep
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not code.co_filename.startswith(own):
            frames.append((code.co_filename, traceback.tb_lineno, code.co_name, traceback.tb_frame.f_globals))
        traceback = traceback.tb_next
    return frames


def _where(filename, line, function):
    if filename.startswith("<cell ") and filename.endswith(">"):
        place = "Cell In[%s], line %d" % (filename[6:-1], line)
        return place if function == "<module>" else place + ", in %s" % _called(function)
    home = os.path.expanduser("~")
    shown = "~" + filename[len(home) :] if filename.startswith(home + os.sep) else filename
    place = "File %s:%d" % (shown, line)
    return place if function == "<module>" else place + ", in %s" % _called(function)


def _called(function):
    return function if function.startswith("<") else function + "()"


def _frame(filename, line, function, namespace):
    import linecache

    where = _where(filename, line, function)
    lines = linecache.getlines(filename, namespace)
    if not lines or not 0 < line <= len(lines):
        return _GREEN + where + _OFF, where
    first, last = max(1, line - _CONTEXT), min(len(lines), line + _CONTEXT)
    rich, bare = [_GREEN + where + _OFF], [where]
    width = max(len(str(last)), 2)
    for number in range(first, last + 1):
        text = lines[number - 1].rstrip("\n")
        if number == line:
            arrow = "-" * (8 - len(str(number)) - 3) + "> %d %s" % (number, text)
            rich.append(_GREEN + arrow + _OFF)
            bare.append(arrow)
        else:
            plain = "%7d %s" % (number, text)
            rich.append(plain)
            bare.append(plain)
    del width
    return "\n".join(rich) + "\n", "\n".join(bare) + "\n"


def _syntax_error(error, session):
    name = type(error).__name__
    filename = error.filename or "<unknown>"
    line = error.lineno or 0
    where = _where(filename, line, "<module>")
    text = (error.text or "").rstrip("\n")
    out = ["  %s" % where]
    if text:
        stripped = text.lstrip()
        indent = len(text) - len(stripped)
        out.append("    %s" % stripped)
        offset = (error.offset or 1) - 1 - indent
        end = getattr(error, "end_offset", None)
        same_line = getattr(error, "end_lineno", None) in (None, error.lineno)
        width = end - error.offset if end and same_line and error.offset and end > error.offset else 1
        out.append("    %s%s" % (" " * max(0, offset), "^" * max(1, min(width, 200))))
    message = "%s: %s" % (name, error.msg if error.msg else _text(error))
    plain = ["\n".join(out), message]
    coloured = ["\n".join(out), "%s%s%s: %s" % (_RED, name, _OFF, message[len(name) + 2 :])]
    return coloured, plain
