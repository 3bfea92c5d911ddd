"""`%who`, `%whos`, `%reset`, `%xdel`: the user's names.

Owns which names count as the user's, and IPython's tables of them.
"""

from ..shell import UsageError
from .options import anywhere, words


# Names of the session that do not begin with an underscore.
_GIVEN = ("In", "Out", "get_ipython", "exit", "quit")


def _own_names(shell):
    hidden = shell.user_ns_hidden
    values = hidden if isinstance(hidden, dict) else None
    for name, value in list(shell.user_ns.items()):
        if name.startswith("_") or name in _GIVEN:
            continue
        if name in hidden and (values is None or values[name] is value):
            continue
        yield name


def who_ls(shell, line=""):
    """Return a sorted list of all interactive variables, or only those of the given types."""
    names = sorted(_own_names(shell))
    wanted = set(line.split())
    if wanted:
        names = [name for name in names if type(shell.user_ns[name]).__name__ in wanted]
    return names


def _nothing(line):
    print("No variables match your requested type." if line.strip() else "Interactive namespace is empty.")


def who(shell, line):
    """Print all interactive variables, with some minimal formatting."""
    names = who_ls(shell, line)
    if not names:
        return _nothing(line)
    text = ""
    for number, name in enumerate(names, 1):
        text += name + "\t "
        if number % 9 == 0:
            text += "\n"
    print(text)
    return None


def whos(shell, line):
    """Like %who, but gives some extra information about each variable."""
    names = who_ls(shell, line)
    if not names:
        return _nothing(line)
    values = [shell.user_ns[name] for name in names]
    types = [type(value).__name__ for value in values]
    first = max(len(name) for name in names + ["Variable"]) + 3
    second = max(len(name) for name in types + ["Type"]) + 3
    head = "Variable".ljust(first) + "Type".ljust(second) + " Data/Info"
    print(head)
    print("-" * len(head))
    for name, kind, value in zip(names, types, values):
        print(name.ljust(first) + kind.ljust(second), _summary(kind, value))
    return None


def _summary(kind, value):
    try:
        if kind in ("dict", "list", "tuple"):
            return "n=%d" % len(value)
        if kind == "ndarray":
            return _array(value)
        if kind == "DataFrame":
            return "Shape: %s" % (value.shape,)
        text = str(value)
    except Exception:
        return "<object with id %d (str() failed)>" % id(value)
    text = text.replace("\n", "\\n")
    return text if len(text) < 50 else text[:25] + "<...>" + text[-25:]


def _array(value):
    shape = str(value.shape).replace(",", "").replace(" ", "x")[1:-1]
    size = value.size * value.itemsize
    text = "%s: %s elems, type `%s`, %s bytes" % (shape, value.size, value.dtype, size)
    if size >= 1048576:
        text += " (%s Mb)" % (size / 1048576)
    elif size >= 100000:
        text += " (%s kb)" % (size / 1024)
    return text


def reset(shell, line):
    """Remove all names the user defined, without asking.

    ``%reset [-f] [-s] [in] [out] [dhist] [array]``: with targets, clears only those.
    """
    options, targets = anywhere(line, flags="f s aggressive")
    session = shell.session
    if not targets and "s" not in options:
        session.reset_namespace()
        return
    if not targets:
        for name in list(_own_names(shell)):
            del shell.user_ns[name]
    for target in (word.lower() for word in targets):
        if target == "out":
            print("Flushing output cache (%d entries)" % len(session.outputs))
            for count in list(session.outputs):
                shell.user_ns.pop("_%d" % count, None)
            session.outputs.clear()
        elif target == "in":
            print("Flushing input history")
            session.history[:] = [""] * len(session.history)
        elif target == "array":
            for name in who_ls(shell, "ndarray"):
                del shell.user_ns[name]
        elif target == "dhist":
            print("Flushing directory history")
            del shell.user_ns.get("_dh", [])[:]
        else:
            print("Don't know how to reset  " + target + ", please run `%reset?` for details")


def reset_selective(shell, line):
    """Remove the user's names that match a regular expression, without asking."""
    import re

    _, patterns = anywhere(line, flags="f")
    if not patterns:
        print("No regex pattern specified. Nothing done.")
        return
    expression = re.compile(patterns[0])
    for name in list(_own_names(shell)):
        if expression.search(name):
            del shell.user_ns[name]


def xdel(shell, line):
    """Delete a variable, and all other names of its value unless ``-n`` is given."""
    options, names = anywhere(line, flags="n")
    if not names:
        raise UsageError("%xdel needs the name of a variable")
    try:
        shell.del_var(words(names[0])[0], "n" in options)
    except (NameError, ValueError) as problem:
        print("%s: %s" % (type(problem).__name__, problem))


MAGICS = {
    "who": who,
    "who_ls": who_ls,
    "whos": whos,
    "reset": reset,
    "reset_selective": reset_selective,
    "xdel": xdel,
}
