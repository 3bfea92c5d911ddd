"""Chooses the source lines to show for a place in a source, and finds the full name of a function.

Owns the division of source into pieces. A piece is a statement or the head of a compound one; IPython's tracebacks
count their context in pieces.  It must not know exceptions, colours or cells.

Only the function that a frame runs is parsed, not its whole file.  A traceback through a large library would otherwise
spend most of its time on code that it does not show.
"""

import _ast

_ONLY_AST = 0x0400  # ast.PyCF_ONLY_AST, spelled out to spare the import.
# A longer source is divided by lines: parsing it would delay the answer.
_MAX_LINES = 10_000
# The search for the end of a block stops after this many tries.
_MAX_TRIES = 30
# A longer piece of context loses its middle.
_MAX_PIECE = 6
_SCOPES = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)
_PARTS = (_ast.stmt, _ast.excepthandler) + ((_ast.match_case,) if hasattr(_ast, "match_case") else ())


def excerpt(lines, code, line, before, after):
    """Returns the lines around `line` as (number, text), with None in place of lines left out.

    `before` and `after` count pieces.  The excerpt never leaves the function that `code` belongs to.
    """
    if not 0 < line <= len(lines):
        return []
    pieces = _pieces(lines, code, line)
    at = next((at for at, piece in enumerate(pieces) if line in piece), None)
    if at is None:
        first, last = max(1, line - before), min(len(lines), line + after)
        pieces, at = [range(number, number + 1) for number in range(first, last + 1)], line - first
    shown = []
    for piece in pieces[max(0, at - before): at + after + 1]:
        numbers = list(piece)
        if len(numbers) > _MAX_PIECE and line not in piece:
            numbers = numbers[:3] + [None] + numbers[-2:]
        shown += numbers
    margin = _margin([lines[number - 1] for number in shown if number is not None])
    return [number and (number, lines[number - 1].rstrip("\n")[margin:]) for number in shown]


def _margin(texts):
    """The indentation that all texts share, not counting blank lines."""
    heads = [text[: len(text) - len(text.lstrip())] for text in texts if text.strip()]
    low, high = min(heads, default=""), max(heads, default="")
    for at, char in enumerate(low):
        if high[at] != char:
            return at
    return len(low)


def _pieces(lines, code, line):
    """The pieces of the scope that `code` runs in, in order. Empty if the scope cannot be parsed."""
    if code.co_name[:1] != "<":
        scope, offset = _block(lines, code.co_firstlineno)
    elif len(lines) <= _MAX_LINES:
        scope, offset = _parsed("".join(_ended(lines))), 0
        if scope is not None and code.co_name != "<module>":
            # A lambda or a comprehension is a part of the function around it.
            scope = _innermost(scope, line)
    else:
        scope, offset = None, 0
    if scope is None:
        return []
    cuts = set()
    if isinstance(scope, _SCOPES):
        cuts.update(_extent(scope))
    else:
        cuts.update((1, len(lines) + 1))
    _cut(scope, cuts)
    places = sorted(cut + offset for cut in cuts)
    pieces = []
    for start, stop in zip(places, places[1:]):
        while start < stop and not lines[start - 1].strip():
            start += 1
        while start < stop and not lines[stop - 2].strip():
            stop -= 1
        if start < stop:
            pieces.append(range(start, stop))
    return pieces


def _ended(lines):
    return [line if line.endswith("\n") else line + "\n" for line in lines]


def _parsed(source):
    import warnings

    try:
        with warnings.catch_warnings():
            # The first compilation of this source warned already.
            warnings.simplefilter("ignore")
            return compile(source, "<source>", "exec", _ONLY_AST, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _block(lines, first):
    """Returns the function or class that begins at `first`, and the number to add to its line numbers.

    It ends before a line that is indented no deeper. If that line is still part of its head or of a string, the text
    up to there does not parse, and the search goes on.
    """
    if not 0 < first <= len(lines):
        return None, 0
    indent = _indent(lines[first - 1])
    tries = 0
    for number in range(first + 1, len(lines) + 2):
        if number <= len(lines):
            text = lines[number - 1].strip()
            if not text or text[0] == "#" or _indent(lines[number - 1]) > indent:
                continue
        tree = _parsed("if 1:\n" * bool(indent) + "".join(_ended(lines[first - 1: number - 1])))
        if tree is not None:
            body = tree.body[0].body if indent else tree.body
            scope = body[0] if body and isinstance(body[0], _SCOPES) else None
            return scope, first - 1 - bool(indent)
        tries += 1
        if tries > _MAX_TRIES:
            break
    return None, 0


def _indent(line):
    return len(line) - len(line.lstrip())


def _children(node):
    """The statements, handlers and cases directly below a node, one list for each body."""
    for name in node._fields:
        body = getattr(node, name, None)
        if isinstance(body, list) and body and isinstance(body[0], _PARTS):
            yield body


def _extent(node):
    """The first line of a part, including its decorators, and the line after its last."""
    start = getattr(node, "lineno", None) or node.pattern.lineno
    if getattr(node, "decorator_list", None):
        start = min(start, node.decorator_list[0].lineno)
    return start, (getattr(node, "end_lineno", None) or node.body[-1].end_lineno) + 1


def _cut(node, cuts):
    """Adds the lines where the pieces below `node` begin and end."""
    for body in _children(node):
        last = 0
        for part in body:
            start, stop = _extent(part)
            if start < last:
                # Two statements share a line, so they cannot be parted.
                cuts.discard(last)
            cuts.update((start, stop))
            if start >= last or stop > last:
                _cut(part, cuts)
            last = stop


def _innermost(node, line):
    """Returns the innermost function or class whose lines include `line`, or the module."""
    found = node
    while True:
        for body in _children(node):
            part = next((part for part in body if _extent(part)[0] <= line < _extent(part)[1]), None)
            if part is not None:
                break
        else:
            return found
        # The head of a function belongs to the scope outside it.
        if isinstance(part, _SCOPES) and line >= part.body[0].lineno:
            found = part
        node = part


def qualified_name(code, lines):
    """Returns the name of a function, preceded by the names of the functions and classes around it."""
    if code.co_name.endswith(("comp>", "expr>")):
        return code.co_name
    name = getattr(code, "co_qualname", None)
    if name is not None or code.co_name == "<module>" or not 0 < code.co_firstlineno <= len(lines):
        return name or code.co_name
    # Before 3.11 a code object lacks its full name. Derive it from the lines above.
    name, indent = code.co_name, _indent(lines[code.co_firstlineno - 1])
    if name[:1] == "<":
        # The code begins in the middle of a line of the function around it.
        indent += 1
    for number in range(code.co_firstlineno, 0, -1):
        text = lines[number - 1]
        words = text.replace("(", " ").replace(":", " ").split()
        words = words[1:] if words[:1] == ["async"] else words
        if len(words) < 2 or words[0] not in ("def", "class") or _indent(text) >= indent:
            continue
        name = words[1] + (".<locals>." if words[0] == "def" else ".") + name
        indent = _indent(text)
        if not indent:
            break
    return name
