"""Variables in shell lines and magic lines: `{expression}`, `$name`, `$$`.

Owns the substitution. As in IPython it is all or nothing: if one expression cannot be evaluated, the text stays
unchanged, because it then more likely belongs to the shell (`$HOME`, `awk '{print $1}'`).
"""

import re
import string

# A `$name` between single quotes belongs to the shell: the rest of the text must contain an even number of them.
_DOLLAR = re.compile(r"\$(\$?[\w.]+)(?=(?:[^']*'[^']*')*[^']*$)")


def expand(text, names):
    try:
        return "".join(_pieces(text, names))
    except Exception:
        return text


def _pieces(text, names):
    for literal, field, spec, conversion in string.Formatter().parse(text):
        yield from _dollars(literal, names)
        if field is None:
            continue
        # A colon is a slice here, not a format: `{a[1:2]}`.
        if spec:
            field = field + ":" + spec
        yield _converted(eval(field, names), conversion)


def _dollars(literal, names):
    at = 0
    for found in _DOLLAR.finditer(literal):
        name = found.group(1)
        yield literal[at: found.start()]
        if name.startswith("$"):
            yield name
        else:
            yield format(eval(name, names))
        at = found.end()
    yield literal[at:]


def _converted(value, conversion):
    if conversion == "r":
        return repr(value)
    if conversion == "a":
        return ascii(value)
    return str(value) if conversion == "s" else format(value)
