"""`%env`, `%cd`, `%pwd`, `%ls`: the process that runs the cells.

Owns directories and environment variables, and the aliases of shell commands that IPython has on Unix.
"""

import os
import sys

from ..shell import UsageError
from .options import leading


def env(shell, line):
    """Get, set, or list environment variables.

    ``%env``: list all. ``%env VAR``: get. ``%env VAR=VALUE`` or ``%env VAR VALUE``: set.
    """
    text = line.strip()
    if not text:
        return _hidden(dict(os.environ))
    if "=" in text or " " in text:
        return set_env(shell, line)
    if text in os.environ:
        return os.environ[text]
    problem = "Environment does not have key: %s" % text
    if "$" in text or "{" in text:
        problem += "\nVariable expansion failed; is the variable defined?"
    raise UsageError(problem)


def _hidden(variables):
    """Hides secrets in the list; asking for one by name returns it."""
    for name in variables:
        if any(word in name.lower() for word in ("key", "token", "secret")):
            variables[name] = "<hidden>"
    return variables


def set_env(shell, line):
    """Set an environment variable. ``%set_env VAR VALUE`` or ``%set_env VAR=VALUE``"""
    separator = "=" if "=" in line else None
    parts = line.strip().split(separator, 1)
    if len(parts) != 2:
        raise UsageError("usage is 'set_env var=val'")
    name, value = (part.strip() for part in parts)
    if any(char.isspace() for char in name):
        raise UsageError("refusing to set env var with whitespace: '%s'" % name)
    os.environ[name] = value
    print("env: %s=%s" % (name, value))


def pwd(shell, line=""):
    """Return the current working directory path."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise UsageError("CWD no longer exists - please use %cd to change directory.") from None


def _past_folders(shell):
    """IPython's `_dh`; its last entry is the current directory."""
    folders = shell.user_ns.get("_dh")
    if not isinstance(folders, list):
        folders = shell.user_ns["_dh"] = []
    return folders


def _here():
    try:
        return os.getcwd()
    except OSError:
        return "()"


def cd(shell, line):
    """Change the current working directory.

    ``%cd [-q] DIR``, ``%cd`` (home), ``%cd -`` (the one before), ``%cd -N`` (number N of ``%dhist``).
    """
    before = _here()
    folders = _past_folders(shell)
    if not folders or folders[-1] != before:
        folders.append(before)
    text = line.strip()
    quiet = text == "-q" or text.startswith("-q ")
    if quiet:
        text = text[2:].strip()
    if text == "-":
        if len(folders) < 2:
            raise UsageError("%cd -: No previous directory to change to.")
        target = folders[-2]
    elif text.startswith("-") and text[1:].isdigit():
        try:
            target = folders[int(text[1:])]
        except IndexError:
            print("The requested directory does not exist in history.")
            return
    else:
        target = text
        if len(target) > 1 and target[0] == target[-1] and target[0] in "\"'":
            target = target[1:-1]
        target = os.path.expanduser(target.replace("\\ ", " ") or "~")
    try:
        shell.session.set_cwd(target)
    except OSError as problem:
        print(problem)
    else:
        if _here() != folders[-1]:
            folders.append(_here())
    if not quiet:
        print(_here())


def dhist(shell, line):
    """Print the history of visited directories."""
    print("Directory history (kept in _dh)")
    for number, folder in enumerate(_past_folders(shell)):
        print("%d: %s" % (number, folder))


def _stack(shell):
    if not hasattr(shell, "dir_stack"):
        shell.dir_stack = []
    return shell.dir_stack


def dirs(shell, line):
    """Return the current directory stack."""
    return _stack(shell)


def pushd(shell, line):
    """Place the current directory on the stack and change directory."""
    _stack(shell).insert(0, os.getcwd().replace(os.path.expanduser("~"), "~"))
    cd(shell, line)
    return _stack(shell)


def popd(shell, line):
    """Change to the directory that was last pushed."""
    if not _stack(shell):
        raise UsageError("%popd on empty stack")
    top = _stack(shell).pop(0)
    cd(shell, top)
    print("popd ->", top)


def _alias(command):
    def magic(shell, line):
        count = command.count("%s") - command.count("%%s")
        if "%l" in command:
            words = command.replace("%l", line)
        elif count > 0:
            given = line.split(None, count)
            if len(given) < count:
                raise UsageError("Alias <%s> requires %d arguments, %d given." % (command, count, len(given)))
            words = " ".join([command % tuple(given[:count]), *given[count:]])
        else:
            words = "%s %s" % (command, line)
        shell.system(words.rstrip())

    magic.__doc__ = "Alias of the shell command `%s`." % command
    return magic


def more(shell, line):
    """Show a file; there is no pager."""
    _, name = leading(line)
    with open(os.path.expanduser(name.strip()), encoding="utf-8", errors="replace") as file:
        print(file.read())


_COLOUR = "" if sys.platform == "darwin" else " --color=never"

# The names, with the commands of IPython but without their colours, which are for terminals.
ALIASES = {
    "ls": "ls -F" + _COLOUR,
    "ll": "ls -F -o" + _COLOUR,
    "lf": "ls -F -o%s %%l | grep ^-" % _COLOUR,
    "lk": "ls -F -o%s %%l | grep ^l" % _COLOUR,
    "ldir": "ls -F -o%s %%l | grep /$" % _COLOUR,
    "lx": "ls -F -o%s %%l | grep ^-..x" % _COLOUR,
    "mkdir": "mkdir",
    "rmdir": "rmdir",
    "cat": "cat",
    "cp": "cp",
    "mv": "mv",
    "rm": "rm",
    "man": "man",
}

MAGICS = {name: _alias(command) for name, command in ALIASES.items()}
MAGICS.update(
    env=env, set_env=set_env, pwd=pwd, cd=cd, dhist=dhist, dirs=dirs, pushd=pushd, popd=popd, more=more, less=more
)
