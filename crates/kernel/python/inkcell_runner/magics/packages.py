"""`%pip`, `%conda`, `%uv`: packages for this interpreter.

Owns the call of the installer and the modules that the session must forget afterwards.
"""

import os
import sys

from .options import words
from .process import run

_CHANGING = ("install", "uninstall")
_RESTART = "Note: you may need to restart the kernel to use updated packages."
_SETUP = "A user can run `inkcell env setup` to make a Python environment of their own, then restart the kernel."


def pip(shell, line):
    """Run pip of this Python. ``%pip install NAME``"""
    arguments = words(line)
    problem = _obstacle(arguments)
    if problem is not None:
        print("%%pip: %s\n%s" % (problem, _SETUP), file=sys.stderr)
        shell.user_ns["_exit_code"] = 1
        shell.session.status("pip", args=arguments, installed=[], exit_code=1)
        return
    before = _distributions()
    code = run(shell.session, [sys.executable, "-m", "pip"] + arguments)
    shell.user_ns["_exit_code"] = code
    fresh = _fresh(before)
    kept = _forget(fresh)
    shell.session.status("pip", args=arguments, installed=sorted(fresh), exit_code=code)
    if arguments[:1] and arguments[0] in _CHANGING:
        print(_RESTART)
        if kept:
            print("Loaded with compiled parts, so the old one stays until then: %s" % ", ".join(kept))


def _obstacle(arguments):
    """The reason why pip cannot work here, or None."""
    import importlib.util

    if importlib.util.find_spec("pip") is None:
        return "this Python (%s) has no pip." % sys.executable
    if not arguments or arguments[0] not in _CHANGING:
        return None
    elsewhere = ("--target", "-t", "--prefix", "--root", "--dry-run", "--help", "-h", "--python")
    if any(word.partition("=")[0] in elsewhere for word in arguments):
        return None
    import sysconfig

    paths = sysconfig.get_paths()
    if sys.prefix == sys.base_prefix and "--break-system-packages" not in arguments:
        allowed = os.environ.get("PIP_BREAK_SYSTEM_PACKAGES", "").lower() in ("1", "true", "yes", "on")
        if not allowed and os.path.exists(os.path.join(paths["stdlib"], "EXTERNALLY-MANAGED")):
            return "this Python (%s) is managed by the operating system and refuses packages." % sys.executable
    if not _writable(paths["purelib"]) and not _user_site_works():
        return "this Python (%s) is read-only: %s cannot be written." % (sys.executable, paths["purelib"])
    return None


def _writable(path):
    while path and not os.path.exists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return os.access(path, os.W_OK | os.X_OK)


def _user_site_works():
    """Whether pip may fall back to the user's own site directory. The runner's own flags do not count: the
    runner starts without that directory, and pip starts with it."""
    import site

    if sys.prefix != sys.base_prefix or os.environ.get("PYTHONNOUSERSITE"):
        return False
    return _writable(site.getusersitepackages())


def _distributions():
    """Installed distributions: the directory of the metadata to its modification time."""
    found = {}
    for folder in sys.path:
        try:
            entries = list(os.scandir(folder or "."))
        except OSError:
            continue
        for entry in entries:
            if entry.name.endswith((".dist-info", ".egg-info", ".egg-link")):
                try:
                    found[entry.path] = entry.stat().st_mtime_ns
                except OSError:
                    pass
    return found


def _fresh(before):
    """Distributions installed since then: name to the modules they bring."""
    import importlib

    importlib.invalidate_caches()
    fresh = {}
    for path, stamp in _distributions().items():
        if before.get(path) != stamp:
            name = os.path.basename(path).rsplit(".", 1)[0].split("-")[0]
            fresh[name] = _modules_of(path) or {name}
    return fresh


def _modules_of(path):
    """The top-level modules of a distribution, from its list of files or its own list of modules."""
    tops = set()
    try:
        with open(os.path.join(path, "RECORD"), encoding="utf-8") as file:
            for line in file:
                first, slash, _ = line.split(",", 1)[0].strip('"').partition("/")
                if slash and not first.endswith((".dist-info", ".data")) and first not in ("..", "__pycache__"):
                    tops.add(first)
                elif not slash and first.endswith((".py", ".so")):
                    tops.add(first.partition(".")[0])
    except OSError:
        pass
    try:
        with open(os.path.join(path, "top_level.txt"), encoding="utf-8") as file:
            tops.update(file.read().split())
    except OSError:
        pass
    return {top for top in tops if top.isidentifier()}


def _forget(fresh):
    """Drops the modules of fresh distributions, so that the next import reads the new files.

    A package with loaded compiled parts stays: one process cannot load them a second time, and half a package
    is worse than an old one.
    """
    import importlib.machinery

    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    kept = []
    for name, tops in fresh.items():
        loaded = [module for module in sys.modules if module.partition(".")[0] in tops]
        files = [getattr(sys.modules[module], "__file__", None) or "" for module in loaded]
        if any(path.endswith(suffixes) for path in files):
            kept.append(name)
            continue
        for module in loaded:
            sys.modules.pop(module, None)
    return kept


def conda(shell, line):
    """Run conda for this Python, if it belongs to a conda environment."""
    return _conda(shell, line, "conda")


def _conda(shell, line, program):
    import shutil

    if not os.path.exists(os.path.join(sys.prefix, "conda-meta", "history")):
        raise ValueError(
            "The python kernel does not appear to be a conda environment.  Please use ``%pip install`` instead."
        )
    path = shutil.which(program) or os.environ.get("CONDA_EXE")
    if path is None:
        raise ValueError("%s was not found on PATH." % program)
    arguments = words(line)
    if arguments and arguments[0] in ("install", "create", "remove", "uninstall", "update", "upgrade"):
        # The user cannot answer conda's questions here.
        arguments += [] if {"-y", "--yes"} & set(arguments) else ["--yes"]
        arguments += [] if {"-p", "--prefix", "-n", "--name"} & set(arguments) else ["--prefix", sys.prefix]
    before = _distributions()
    shell.user_ns["_exit_code"] = run(shell.session, [path] + arguments)
    _forget(_fresh(before))
    print("\n" + _RESTART)


def mamba(shell, line):
    """Run mamba for this Python, if it belongs to a conda environment."""
    return _conda(shell, line, "mamba")


def micromamba(shell, line):
    """Run micromamba for this Python, if it belongs to a conda environment."""
    return _conda(shell, line, "micromamba")


def uv(shell, line):
    """Run uv; ``%uv pip install NAME`` installs for this Python."""
    import shutil

    path = shutil.which("uv")
    if path is None:
        raise ValueError("uv was not found on PATH. Please use ``%pip install`` instead.")
    arguments = words(line)
    if arguments[:1] == ["pip"] and "--python" not in arguments and len(arguments) > 1:
        arguments += ["--python", sys.executable]
    before = _distributions()
    shell.user_ns["_exit_code"] = run(shell.session, [path] + arguments)
    _forget(_fresh(before))
    print(_RESTART)


MAGICS = {"pip": pip, "conda": conda, "mamba": mamba, "micromamba": micromamba, "uv": uv}
