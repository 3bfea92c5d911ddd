"""`%pinfo`, `%psource`, `%lsmagic`: asking about names and magics.

Owns the arguments of these magics. Layout and lookup are in `help`.
"""

from .. import help as _help
from .options import anywhere


def pinfo(shell, line=""):
    """Provide detailed information about an object: ``%pinfo NAME`` or ``NAME?``"""
    # `%pinfo -n x` is an old spelling.
    _help.show(shell, line.strip(), detail=False)


def pinfo2(shell, line=""):
    """Provide extra detailed information about an object, with its source: ``NAME??``"""
    _help.show(shell, line.strip(), detail=True)


def psource(shell, line=""):
    """Print the source code for an object."""
    _help.source(shell, line.strip())


def pdoc(shell, line=""):
    """Print the docstring for an object."""
    _help.doc(shell, line.strip())


def pfile(shell, line=""):
    """Print the whole file where an object is defined."""
    _help.file(shell, line.strip())


def pdef(shell, line=""):
    """Print the call signature of an object."""
    _help.definition(shell, line.strip())


def psearch(shell, line=""):
    """Search for names by wildcard: ``%psearch [-a] [-i|-c] PATTERN``"""
    options, patterns = anywhere(line.replace("?", ""), flags="a i c l", valued="e s")
    for pattern in patterns[:1]:
        _help.search(shell, pattern, everything="a" in options, exact_case="c" in options)


class MagicsDisplay:
    """The list of magics, shown as text."""

    def __init__(self, tables):
        self._tables = tables

    def __str__(self):
        cells = sorted(self._tables["cell"])
        lines = sorted(name for name in self._tables["line"] if name.isidentifier())
        return "\n".join(
            [
                "Available line magics:",
                "  ".join("%" + name for name in lines),
                "",
                "Available cell magics:",
                "  ".join("%%" + name for name in cells),
                "",
                "Automagic is OFF, % prefix IS needed for line magics.",
            ]
        )

    __repr__ = __str__

    def _repr_json_(self):
        return {kind: {name: "Other" for name in table} for kind, table in self._tables.items()}


def lsmagic(shell, line=""):
    """List currently available magic functions."""
    return MagicsDisplay(shell.magics_manager.magics)


def magic(shell, line=""):
    """Print what each magic does."""
    for kind, mark in (("line", "%"), ("cell", "%%")):
        for name, function in sorted(shell.magics_manager.magics[kind].items()):
            text = (function.__doc__ or "").strip().partition("\n")[0]
            print("%s%s: %s" % (mark, name, text))


def quickref(shell, line=""):
    """Show a quick reference sheet."""
    print(_help.USAGE)


MAGICS = {
    "pinfo": pinfo,
    "pinfo2": pinfo2,
    "psource": psource,
    "pdoc": pdoc,
    "pfile": pfile,
    "pdef": pdef,
    "psearch": psearch,
    "lsmagic": lsmagic,
    "magic": magic,
    "quickref": quickref,
}
for _function in (pinfo, pinfo2, psource, pdoc, pfile, pdef, psearch):
    # The line is a name, not a text with variables to expand.
    _function.raw_line = True
