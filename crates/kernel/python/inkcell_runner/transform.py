"""IPython syntax to Python: magics, shell lines, help marks, pasted prompts.

Owns the one question "which lines of this cell are not Python, and what call do they stand for". It is pure
text to text: it must not know the session, the user's names, or the existing magics.

A form counts only at the start of a statement. The scanner finds statement starts by reading the tokens that
can hide a newline (strings, comments, brackets, backslashes). The standard library's tokenizer does not work
here: it stops at the first shell line that it cannot read, and each release stops at different ones.

Line numbers stay the same: a form that spans lines is followed by as many empty lines as it took, so a
traceback points to the line that the user typed.
"""

import re
import sys

# ast.PyCF_ALLOW_TOP_LEVEL_AWAIT and ast.PyCF_ONLY_AST, written as numbers to avoid the import.
_PARSE = 0x2000 | 0x0400

# From 3.12 on an f-string may contain its own quotes, brackets and newlines.
_NESTED_FSTRINGS = sys.version_info >= (3, 12)

_PREFIXES = frozenset("r u b f t br rb fr rf tr rt".split())

_NAME = re.compile(r"[^\W\d]\w*")
# Stretches that cannot hide or end a logical line.
_PLAIN = re.compile(r"[^\w\"'#\\()\[\]{}\n=?]+")
# Characters that can end a string, or hide its end.
_IN_STRING = re.compile(r"[\\\n\"']")
_NUMBER = re.compile(r"\d\w*")
_ASSIGNED = re.compile(r"(?:[ \t]|\\\r?\n)*(!|%(?=[^\W\d]))")
_CELL_MAGIC = re.compile(r"%%\S")
_CELL_HELP = re.compile(r"%%\w+\?")
# The text allowed before a closing question mark: a magic's name, or a dotted path with wildcards and constant
# subscripts.
_HELP_END = re.compile(
    r"(%{0,2}(?!\d)[\w*]+(?:\.(?!\d)[\w*]+|\[(?:-?\d+|\"[^\"\n]*\"|'[^'\n]*')\])*)(\?\??)$"
)

_CLASSIC_START = re.compile(r">>>(?: |$)")
_CLASSIC = re.compile(r"(?:>>>|\.\.\.)(?: |$)")
_NUMBERED_START = re.compile(r"(?:\[(?:nav|ins)\] )?In \[\d+\]: ")
_NUMBERED = re.compile(r"(?:\[(?:nav|ins)\] )?In \[\d+\]: |\s*\.{3,}: ?")


def special_start(source):
    """Whether the first line has a form that plain Python might also accept.

    A pasted `In [1]: x` compiles as an annotation, so a caller that asks the compiler first has to ask this
    too. This includes `%%`: it never compiles, and a caller can skip the attempt.
    """
    head = source.lstrip()
    return head.startswith("%%") or _NUMBERED_START.match(head) is not None


def transform(source):
    """`source` with every IPython form replaced by the call it stands for.

    Valid Python comes back unchanged.
    """
    if not special_start(source) and _compiles(source):
        return source
    source = clean(source)
    magic = _cell_magic(source)
    if magic is not None:
        return magic
    if _compiles(source):
        return source
    return rewrite(source)


def clean(source):
    """The source without pasted prompts and without the indentation of the whole cell."""
    lines = source.splitlines(keepends=True)
    first = 0
    while first < len(lines) and not lines[first].strip():
        first += 1
    if first == len(lines):
        return source
    body = lines[first:]
    # Blank lines do not count for the margin; they may be the text of a string and stay.
    margin = _common([line[: len(line) - len(line.lstrip(" \t"))] for line in body if line.strip()])
    if margin:
        body = [line[len(margin):] if line.startswith(margin) else line for line in body]
    for start, prompt in ((_CLASSIC_START, _CLASSIC), (_NUMBERED_START, _NUMBERED)):
        # A paste may begin in the middle; then the second line reveals it.
        if start.match(body[0]) or (len(body) > 1 and prompt.match(body[1])):
            body = [_without(prompt, line) for line in body]
    return "".join(lines[:first] + body)


def _common(texts):
    """The common prefix of all texts."""
    low, high = min(texts), max(texts)
    for at, char in enumerate(low):
        if high[at] != char:
            return low[:at]
    return low


def _without(prompt, line):
    text = line.rstrip("\r\n")
    return prompt.sub("", text, count=1) + line[len(text):]


def _compiles(source):
    import warnings

    try:
        with warnings.catch_warnings():
            # Only the real compilation of the cell may warn.
            warnings.simplefilter("ignore")
            compile(source, "<cell>", "exec", _PARSE, True)
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
        return False
    return True


def _cell_magic(source):
    body = source.lstrip("\r\n\t\f\v ")
    if not _CELL_MAGIC.match(body) or _CELL_HELP.match(body):
        return None
    before = source[: len(source) - len(body)].count("\n")
    head, newline, rest = body.partition("\n")
    name, _, line = head[2:].rstrip().partition(" ")
    if rest and not rest.endswith("\n"):
        rest += "\n"
    call = "get_ipython().run_cell_magic(%r, %r, %r)" % (name, line, rest)
    return "\n" * before + call + newline + "\n" * body.count("\n", len(head) + 1)


def rewrite(source):
    """`source`, which need not be Python, with the forms at its statement starts replaced."""
    out = []
    pos = 0
    end = len(source)
    while pos < end:
        start = pos
        while pos < end and source[pos] in " \t\f":
            pos += 1
        indent = source[start:pos]
        if pos < end and source[pos] in "%!?,;/":
            stop, text = _whole_command(source, pos)
            call = _escaped(text)
            out.append(indent + call + _padding(source, pos, stop))
            pos = stop
            continue
        stop, assigned, asks = _logical_line(source, pos)
        piece = source[pos:stop]
        if assigned is not None:
            stop, text = _whole_command(source, assigned)
            out.append(indent + source[pos:assigned] + _captured(text))
            out.append(_padding(source, assigned, stop))
        elif asks:
            found = _HELP_END.search(piece.rstrip())
            if found is None:
                out.append(indent + piece)
            else:
                call = _help_call(found.group(1), found.group(2))
                out.append(indent + call + _padding(source, pos, stop))
        else:
            out.append(indent + piece)
        pos = stop
    return "".join(out)


def _padding(source, start, stop):
    """The newlines of the replaced text, so that later lines keep their number."""
    return "\n" * source.count("\n", start, stop)


def _whole_command(source, pos):
    """The end of the command at `pos` and its text, with backslash lines joined."""
    parts = []
    while True:
        newline = source.find("\n", pos)
        stop = len(source) if newline < 0 else newline + 1
        part = source[pos:stop].rstrip("\r\n")
        if newline < 0 or stop == len(source) or not part.endswith("\\"):
            # The last line has no next line, so its backslash stays.
            parts.append(part.rstrip())
            return stop, " ".join(parts)
        parts.append(part[:-1])
        pos = stop


def _escaped(text):
    """The call for a line that begins with an escape character."""
    if text.startswith("!!"):
        return "get_ipython().getoutput(%r)" % text[2:]
    if text.startswith("??"):
        return _help_call(text[2:], "??") if text[2:] else "get_ipython().show_usage()"
    mark, rest = text[0], text[1:]
    if mark == "!":
        return "get_ipython().system(%r)" % rest
    if mark == "%":
        # `%name?` and `%%name?` ask about the magic instead of running it.
        asked = _HELP_END.match(text)
        if asked is not None:
            return _help_call(asked.group(1), asked.group(2))
        return _line_magic(rest)
    if mark == "?":
        return _help_call(rest, "?") if rest else "get_ipython().show_usage()"
    name, _, args = rest.strip().partition(" ")
    if mark == ",":
        return "%s(%s)" % (name, ", ".join('"%s"' % arg for arg in args.split()))
    if mark == ";":
        return '%s("%s")' % (name, args)
    return "%s(%s)" % (name, ", ".join(args.split()))


def _captured(text):
    """The call for the text after `x =`."""
    if text.startswith("!"):
        return "get_ipython().getoutput(%r)" % text.lstrip("!")
    return _line_magic(text[1:])


def _line_magic(text):
    name, _, args = text.partition(" ")
    return "get_ipython().run_line_magic(%r, %r)" % (name, args)


def _help_call(target, mark):
    if "*" in target:
        magic = "psearch"
    else:
        magic = "pinfo2" if mark == "??" else "pinfo"
    return "get_ipython().run_line_magic(%r, %r)" % (magic, target)


def _logical_line(source, pos):
    """Scan the statement line at `pos`.

    Returns where it ends (after its newline), where the command of an assignment such as `x = !ls` begins (or
    None), and whether the last token is a question mark.
    """
    end = len(source)
    depth = 0
    seen_assign = False
    asks = False
    while pos < end:
        char = source[pos]
        if char == "\n":
            pos += 1
            if depth == 0:
                return pos, None, asks
        elif char == "\\":
            # A backslash hides the newline after it, including one written \r\n.
            pos += 3 if source.startswith("\r\n", pos + 1) else 2
        elif char == "#":
            newline = source.find("\n", pos)
            pos = end if newline < 0 else newline
            # A question mark before a comment does not ask for help.
            asks = False
        elif char == '"' or char == "'":
            pos = _string_end(source, pos, "")
            asks = False
        elif char.isalnum() or char == "_":
            word = _NAME.match(source, pos) or _NUMBER.match(source, pos)
            stop = word.end() if word else pos + 1
            if word and stop < end and source[stop] in "\"'":
                prefix = word.group().lower()
                if prefix in _PREFIXES:
                    stop = _string_end(source, stop, prefix)
            pos = stop
            asks = False
        elif char in "([{":
            depth += 1
            pos += 1
            asks = False
        elif char in ")]}":
            depth = max(0, depth - 1)
            pos += 1
            asks = False
        elif char == "=":
            if source.startswith("==", pos):
                pos += 2
                continue
            compound = source[pos - 1] in "+-*/%@&|^<>!:=" if pos else False
            pos += 1
            asks = False
            if depth == 0 and not seen_assign and not compound:
                seen_assign = True
                command = _ASSIGNED.match(source, pos)
                if command is not None:
                    return pos, command.start(1), False
        elif char == "?":
            asks = depth == 0
            pos += 1
        else:
            run = _PLAIN.match(source, pos)
            stop = run.end() if run else pos + 1
            asks = asks and source[pos:stop].isspace()
            pos = stop
    return end, None, asks


def _string_end(source, pos, prefix):
    """The end of the string whose quote is at `pos`."""
    quote = source[pos]
    if source.startswith(quote * 3, pos):
        quote *= 3
    pos += len(quote)
    if _NESTED_FSTRINGS and ("f" in prefix or "t" in prefix):
        return _formatted_end(source, pos, quote)
    while True:
        stop = _IN_STRING.search(source, pos)
        if stop is None:
            return len(source)
        pos = stop.start()
        if source[pos] == "\\":
            pos += 3 if source.startswith("\r\n", pos + 1) else 2
        elif source.startswith(quote, pos):
            return pos + len(quote)
        elif source[pos] == "\n" and len(quote) == 1:
            # Unterminated: the statement is an error, but the next line is not.
            return pos
        else:
            pos += 1


def _formatted_end(source, pos, quote):
    """Like `_string_end`, but starts inside an f-string and skips its expressions."""
    end = len(source)
    while pos < end:
        char = source[pos]
        if char == "\\" and not source.startswith(("{", "}"), pos + 1):
            pos += 3 if source.startswith("\r\n", pos + 1) else 2
        elif source.startswith(quote, pos):
            return pos + len(quote)
        elif char == "\n" and len(quote) == 1:
            return pos
        elif char == "{":
            if source.startswith("{{", pos):
                pos += 2
            else:
                pos = _field_end(source, pos + 1, quote)
        else:
            pos += 1
    return end


def _field_end(source, pos, quote):
    """The end of the replacement field whose content begins at `pos`."""
    end = len(source)
    depth = 0
    while pos < end:
        char = source[pos]
        if char in "\"'":
            pos = _string_end(source, pos, "")
        elif char.isalpha() or char == "_":
            word = _NAME.match(source, pos)
            stop = word.end() if word else pos + 1
            if word and source[stop: stop + 1] in ("'", '"'):
                prefix = word.group().lower()
                stop = _string_end(source, stop, prefix if prefix in _PREFIXES else "")
            pos = stop
        elif char == "#":
            newline = source.find("\n", pos)
            pos = end if newline < 0 else newline
        elif char in "([{":
            depth += 1
            pos += 1
        elif char in ")]":
            depth = max(0, depth - 1)
            pos += 1
        elif char == "}":
            pos += 1
            if depth == 0:
                return pos
            depth -= 1
        elif char == ":" and depth == 0:
            return _spec_end(source, pos + 1, quote)
        else:
            pos += 1
    return end


def _spec_end(source, pos, quote):
    """The end of the format specification at `pos`, including its closing brace."""
    end = len(source)
    while pos < end:
        char = source[pos]
        if char == "{":
            pos = _field_end(source, pos + 1, quote)
        elif char == "}":
            return pos + 1
        elif source.startswith(quote, pos):
            # The brace is missing; the string ends all the same.
            return pos
        else:
            pos += 1
    return end
