"""`%history`, `%rerun`, `%macro`: earlier cells.

Owns the selection of earlier cells by number. It knows only the cells of this session; nothing is stored on
disk.
"""

from ..shell import UsageError
from .options import anywhere


def _typed(shell):
    """Cell number to source. Numbers start at one; entry zero is IPython's empty line."""
    history = list(shell.session.history)
    first = 0 if history and history[0] == "" else 1
    return {number: source for number, source in enumerate(history, first) if number > 0}


def selected(shell, ranges):
    """The cells that `1-3 5 ~2` and similar ranges name; without ranges, all cells."""
    typed = _typed(shell)
    if not ranges:
        return sorted(typed.items())
    chosen = []
    for text in ranges:
        first, dash, last = text.partition("-")
        colon = ":" in text and not dash
        if colon:
            first, _, last = text.partition(":")
        try:
            start = int(first)
            stop = start if not (dash or colon) else int(last) if last else max(typed, default=0)
        except ValueError:
            raise UsageError("%r is no range of cells, such as 3 or 1-5" % text) from None
        if colon and last:
            # A range with a colon excludes its end, as a slice does.
            stop -= 1
        chosen += [(number, typed[number]) for number in range(start, stop + 1) if number in typed]
    return chosen


def history(shell, line):
    """Print input history.

    ``%history [-n] [-o] [-p] [-t] [-l LIMIT] [-g PATTERN] [-f FILE] [ranges]``

    -n: numbers. -o: outputs too. -p: with prompts. -l: the last cells only.
    -g: cells that match a pattern. -f: write to a file.
    """
    import fnmatch

    options, ranges = anywhere(line, flags="n o p t r u", valued="l g f")
    cells = selected(shell, [] if "g" in options else ranges)
    if "g" in options:
        pattern = "*%s*" % options["g"]
        cells = [cell for cell in cells if fnmatch.fnmatchcase(cell[1], pattern)]
        options["n"] = True
    if "l" in options:
        cells = [cell for cell in cells if cell[0] < shell.execution_count][-int(options["l"]):]
    lines = []
    for number, source in cells:
        source = source.rstrip("\n") if "\n" in source.rstrip("\n") else source.strip("\n")
        multiline = "\n" in source
        if "p" in options:
            source = "\n... ".join(source.split("\n"))
        prefix = ""
        if "n" in options:
            prefix = "%4d:%s" % (number, "\n" if multiline else " ")
        if "p" in options:
            prefix += ">>> "
        lines.append(prefix + source)
        if "o" in options and number in shell.session.outputs:
            lines.append(repr(shell.session.outputs[number]))
    if "f" not in options:
        if lines:
            print("\n".join(lines))
        return
    with open(options["f"], "w", encoding="utf-8") as file:
        file.write("".join(text + "\n" for text in lines))


def notebook(shell, line):
    """Export the session's cells to a notebook file. ``%notebook FILE``"""
    import json

    path = line.strip()
    if not path:
        raise UsageError("%notebook needs the name of a file")
    # The running cell is the export itself.
    cells = [
        {"cell_type": "code", "execution_count": number, "metadata": {}, "outputs": [], "source": source}
        for number, source in selected(shell, [])
        if number != shell.session.count
    ]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, file, indent=1)


def rerun(shell, line):
    """Run earlier cells again. ``%rerun [-l N] [ranges]``"""
    options, ranges = anywhere(line, valued="l g")
    cells = [cell for cell in selected(shell, ranges) if cell[0] != shell.session.count]
    if not ranges:
        cells = cells[-int(options.get("l", 1)):]
    if not cells:
        print("No lines in history match specification")
        return
    sources = "\n".join(source for _, source in cells)
    print("=== Executing: ===")
    print(sources)
    print("=== Output: ===")
    shell.session.run_source(sources)


def recall(shell, line):
    """Print earlier cells; there is no next cell to put them in."""
    cells = [cell for cell in selected(shell, line.split()) if cell[0] != shell.session.count]
    if not line.strip():
        cells = cells[-1:]
    for _, source in cells:
        print(source)


class Macro:
    """Earlier cells under a name; showing it runs them."""

    def __init__(self, session, value):
        self._session = session
        self.value = value

    def __str__(self):
        return self.value

    def __repr__(self):
        return "Macro(%r)" % self.value

    def _ipython_display_(self):
        self._session.run_source(self.value)


def macro(shell, line):
    """Define a macro from earlier cells. ``%macro NAME ranges``"""
    options, names = anywhere(line, flags="r q")
    if len(names) < 2:
        raise UsageError("%macro insufficient args; usage '%macro name n1-n2 n3-4...")
    sources = [source for _, source in selected(shell, names[1:])]
    value = "\n".join(sources if "r" in options else map(shell.transform_cell, sources))
    shell.user_ns[names[0]] = Macro(shell.session, value + "\n")
    print("Macro `%s` created. To execute, type its name (without quotes)." % names[0])
    print("=== Macro contents: ===")
    print(value, end="\n ")


MAGICS = {
    "history": history,
    "hist": history,
    "notebook": notebook,
    "recall": recall,
    "rep": recall,
    "rerun": rerun,
    "macro": macro,
}
