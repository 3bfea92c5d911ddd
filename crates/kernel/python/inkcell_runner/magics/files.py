"""`%%writefile`, `%run`, `%load`: files to and from the session.

Owns reading and running scripts and notebooks by path.
"""

import os
import sys

from ..shell import UsageError
from .options import anywhere, leading, words


def writefile(shell, line, cell):
    """Write the contents of the cell to a file. ``%%writefile [-a] filename``"""
    options, names = anywhere(line, flags="a|append")
    if not names:
        raise UsageError("the following arguments are required: filename")
    path = os.path.expanduser(" ".join(names))
    append = "a" in options
    # IPython fails if the directory is missing; the reference makes it, and so does the runner.
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    if not os.path.exists(path):
        print("Writing %s" % path)
    else:
        print(("Appending to %s" if append else "Overwriting %s") % path)
    with open(path, "a" if append else "w", encoding="utf-8") as file:
        file.write(cell)
    shell.session.status("writefile", path=path, bytes=len(cell.encode("utf-8", "replace")), append=append)


def _source_path(name):
    """The path of the named file, with `.py` or `.ipynb` added if missing."""
    name = os.path.expandvars(os.path.expanduser(name))
    for candidate in (name, name + ".py", name + ".ipynb"):
        if os.path.isfile(candidate):
            return candidate
    return None


def _notebook_cells(path):
    """The sources of a notebook's code cells."""
    import json

    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    cells = notebook.get("cells")
    if cells is None:
        # Notebooks before version 4 keep cells in worksheets, and code under `input`.
        cells = [cell for sheet in notebook.get("worksheets", []) for cell in sheet.get("cells", [])]
    for cell in cells:
        if cell.get("cell_type") == "code":
            source = cell.get("source", cell.get("input", ""))
            yield source if isinstance(source, str) else "".join(source)


def run(shell, line):
    """Run the named file inside the session as a program.

    ``%run [-n] [-i] [-e] [-t] [-m MODULE | FILE] [arguments]``

    -i: run in the user's namespace. -n: ``__name__`` is the file's name, not
    ``__main__``. -e: ignore SystemExit. -t: print timing. A notebook runs its
    code cells in the user's namespace.
    """
    options, rest = leading(line, flags="nietbpG", valued="m")
    given = words(rest)
    if "m" in options:
        import importlib.util

        spec = importlib.util.find_spec(options["m"])
        if spec is None or not spec.origin:
            raise UsageError("No module named %s" % options["m"])
        path = spec.origin
        if os.path.basename(path) == "__init__.py":
            path = os.path.join(os.path.dirname(path), "__main__.py")
    elif given:
        name = given.pop(0)
        path = _source_path(name)
        if path is None:
            problem = "File `%r` not found." % name
            raise Exception(problem) from OSError(problem)
    else:
        raise UsageError("you must provide at least a filename.")
    if path.endswith((".ipynb", ".ipy")):
        return _run_cells(shell, path)
    arguments = [one for word in given for one in _globbed(word)] if "G" not in options else given
    if "t" not in options:
        return _run_script(shell, path, arguments, options)
    from .timing import measured

    wall, user, system, _, error = measured(lambda: _run_script(shell, path, arguments, options))
    print("\nIPython CPU timings (estimated):\n  User   : %10.2f s.\n  System : %10.2f s." % (user, system))
    print("Wall time: %10.2f s." % wall)
    if error is not None:
        raise error
    return None


def _globbed(word):
    import glob

    return sorted(glob.glob(os.path.expanduser(word))) or [word]


def _run_cells(shell, path):
    sources = _notebook_cells(path) if path.endswith(".ipynb") else [_text(path)]
    for number, source in enumerate(sources, 1):
        shell.session.run_source(source, filename="%s#%d" % (path, number))


def _text(path):
    import tokenize

    with tokenize.open(path) as file:
        return file.read()


def _run_script(shell, path, arguments, options):
    import types

    name = os.path.splitext(os.path.basename(path))[0] if "n" in options else "__main__"
    with open(path, "rb") as file:
        code = compile(file.read(), os.path.abspath(path), "exec", 0, True)
    user = shell.user_ns
    module = types.ModuleType(name)
    if "i" in options:
        names = user
    else:
        names = module.__dict__
        names["__builtins__"] = user.get("__builtins__", __builtins__)
    had_file = user.get("__file__")
    names["__file__"] = path
    before = (sys.argv, list(sys.path), sys.modules.get("__main__"))
    sys.argv = [path] + arguments
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        if "i" not in options and name == "__main__":
            sys.modules["__main__"] = module
        exec(code, names)
    except SystemExit as stop:
        if "e" not in options and stop.code not in (None, 0):
            raise
    finally:
        sys.argv = before[0]
        # Directories that the script added stay, its own goes.
        own = os.path.dirname(os.path.abspath(path))
        if own in sys.path and before[1].count(own) < sys.path.count(own):
            sys.path.remove(own)
        if before[2] is not None:
            sys.modules["__main__"] = before[2]
        if "i" in options:
            if had_file is None:
                names.pop("__file__", None)
            else:
                names["__file__"] = had_file
        else:
            # The names defined before an error are there too, as after `python -i`.
            user.update({key: value for key, value in names.items() if not _belongs_to_module(key)})


def _belongs_to_module(name):
    return name.startswith("__") and name.endswith("__")


def load(shell, line):
    """Run the code of a file in the user's namespace. ``%load [-y] FILE``

    IPython puts the text into the cell and waits for the user to run it again; here it runs at once.
    """
    _, names = anywhere(line, flags="y n", valued="r s")
    if not names:
        raise UsageError("Missing filename, URL, input history range, macro, or element in the user namespace")
    name = " ".join(names)
    if name.startswith(("http://", "https://")):
        import urllib.request

        with urllib.request.urlopen(name, timeout=60) as reply:
            return shell.session.run_source(reply.read().decode("utf-8", "replace"), filename=name)
    path = _source_path(name)
    if path is None:
        value = shell.user_ns.get(name)
        if isinstance(value, str):
            return shell.session.run_source(value)
        raise ValueError("'%s' was not found in history, as a file, url, nor in the user namespace." % name)
    if path.endswith(".ipynb"):
        return _run_cells(shell, path)
    return shell.session.run_source(_text(path), filename=path)


def pycat(shell, line):
    """Show a file."""
    path = _source_path(line.strip())
    if path is None:
        print("Error: no such file, variable, URL, history range or macro")
    else:
        print(_text(path))


def save(shell, line):
    """Save cells to a file. ``%save [-a] [-f] FILE 1-3 5``"""
    from .past import selected

    options, names = anywhere(line, flags="a f r")
    if not names:
        raise UsageError("Missing filename.")
    path = os.path.expanduser(names[0])
    if not path.endswith((".py", ".ipy")):
        path += ".py"
    if os.path.exists(path) and not options:
        print("File `%s` exists. Use `%%save -f %s` to force overwrite" % (path, line))
        return
    sources = "".join(source.rstrip("\n") + "\n" for _, source in selected(shell, names[1:]))
    append = "a" in options
    with open(path, "a" if append else "w", encoding="utf-8") as file:
        file.write(("" if append else "# coding: utf-8\n") + sources)
    print("The following commands were written to file `%s`:" % path)
    print(sources)


MAGICS = {
    "writefile": writefile,
    "file": writefile,
    "run": run,
    "load": load,
    "loadpy": load,
    "pycat": pycat,
    "save": save,
}
