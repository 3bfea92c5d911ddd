"""`%config`, `%precision`, `%xmode` and the switches of IPython's terminal.

Owns the settings that a notebook may change here, and the answers to magics that need a terminal, a debugger or
IPython's own files.
"""

import sys

from ..shell import Settings, UsageError
from .options import words


def config(shell, line=""):
    """Configure: ``%config Section.name = value``; ``%config Section`` lists, ``%config Section.name`` gets."""
    text = line.strip()
    settings = shell.config
    if not text:
        print("Available objects for config:")
        for name in sorted(set(_KNOWN) | set(settings)):
            print("   ", name)
        return None
    target, assign, value = (part.strip() for part in text.partition("="))
    section, dot, name = target.partition(".")
    if not assign and not dot:
        if section not in settings and section not in _KNOWN:
            raise UsageError("Invalid config statement: %r, should be `Class.trait = value`" % text)
        for name, value in sorted(dict(_KNOWN.get(section, {}), **settings.get(section, {})).items()):
            print("%s.%s = %r" % (section, name, value))
        return None
    if not dot or not section.isidentifier() or not name.replace(".", "").isidentifier():
        raise UsageError("Invalid config statement: %r, should be `Class.trait = value`" % text)
    if not assign:
        return settings.get(section, {}).get(name, _current(shell, section, name))
    try:
        value = eval(value, shell.user_ns)
    except Exception:
        # As in IPython, a value that is not an expression counts as text.
        pass
    if section not in _KNOWN:
        print("Warning: %%config %s has no effect here." % target, file=sys.stderr)
    if section not in settings:
        settings[section] = Settings() if type(settings) is Settings else type(settings)()
    settings[section][name] = value
    _apply(shell, section, name, value)
    return None


# Sections that notebooks set, with their defaults.
_KNOWN = {
    "InlineBackend": {
        "figure_formats": {"png"},
        "rc": {},
        "close_figures": True,
        "print_figure_kwargs": {"bbox_inches": "tight"},
    },
    "InteractiveShell": {"ast_node_interactivity": "last_expr", "xmode": "Context"},
    "ZMQInteractiveShell": {"ast_node_interactivity": "last_expr"},
    "TerminalInteractiveShell": {},
    "IPCompleter": {"use_jedi": False, "greedy": False},
    "Completer": {"use_jedi": False},
    "Application": {},
    "HistoryManager": {},
    "SqlMagic": {},
}


def _current(shell, section, name):
    if section.endswith("InteractiveShell") and hasattr(shell, name):
        return getattr(shell, name)
    return _KNOWN.get(section, {}).get(name)


def _apply(shell, section, name, value):
    if section.endswith("InteractiveShell"):
        if name == "ast_node_interactivity":
            allowed = ("all", "last", "last_expr", "none", "last_expr_or_assign")
            if value not in allowed:
                raise UsageError("ast_node_interactivity must be one of %s, not %r" % (", ".join(allowed), value))
        setattr(shell, name, value)
    elif section == "InlineBackend":
        from .. import figures

        # The module decides which of these it honours.
        configure = getattr(figures, "configure", None)
        if configure is not None:
            configure(name, value)
    elif section in shell.magics_manager.registry:
        setattr(shell.magics_manager.registry[section], name, value)


def precision(shell, line=""):
    """Set floating point precision for pretty printing. ``%precision 3`` or ``%precision %.3f``"""
    formatter = shell.display_formatter.formatters["text/plain"]
    text = line.strip()
    formatter.float_precision = text
    if not text:
        return "%r"
    return text if "%" in text else "%%.%df" % int(text)


def pprint(shell, line=""):
    """Toggle pretty printing on/off."""
    formatter = shell.display_formatter.formatters["text/plain"]
    text = line.strip().lower()
    formatter.pprint = text in ("1", "on") if text else not formatter.pprint
    print("Pretty printing has been turned", "ON" if formatter.pprint else "OFF")


_MODES = ("Plain", "Context", "Verbose", "Minimal", "Docs")


def xmode(shell, line=""):
    """Switch modes for the exception handlers. ``%xmode Plain|Context|Verbose|Minimal``"""
    mode = line.strip().capitalize()
    if mode and mode not in _MODES:
        print("Unrecognized mode in FormattedTB: <%s>\nValid modes: %s" % (mode, list(_MODES)), file=sys.stderr)
        return
    current = shell.xmode if shell.xmode in _MODES else "Context"
    # Without a name, take the next mode, as IPython does.
    shell.xmode = mode or _MODES[(_MODES.index(current) + 1) % 4]
    print("Exception reporting mode:", shell.xmode)


def colors(shell, line=""):
    """Accepted: the reader chooses the colours of stored output."""
    if line.strip():
        shell.colors = line.strip()


def automagic(shell, line=""):
    """Make magics callable without their percent sign, or not. ``%automagic [on|off]``; alone it toggles."""
    table, word = shell.magics_manager, line.strip().lower()
    table.auto_magic = word in ("on", "1", "true") if word else not table.auto_magic
    state = "ON, % prefix IS NOT needed" if table.auto_magic else "OFF, % prefix IS needed"
    print("\nAutomagic is %s for line magics." % state)


def autoawait(shell, line=""):
    """Say that `await` works at the top level of a cell."""
    if not line.strip():
        print("IPython autoawait is `on`, and set to use `asyncio`")


def autocall(shell, line=""):
    """Accepted: calls need their parentheses here."""
    print("Automatic calling is: OFF")


def pdb(shell, line=""):
    """Say that no debugger can be used."""
    print("Automatic pdb calling has been turned OFF: interactive stdin is not supported.", file=sys.stderr)


def debug(shell, line=""):
    """Say that no debugger can be used."""
    raise UsageError("%debug needs a terminal; interactive stdin is not supported. The traceback is shown in full.")


def tb(shell, line=""):
    """Print the last traceback."""
    error = getattr(sys, "last_value", None)
    if error is None:
        print("No traceback available to show.", file=sys.stderr)
        return
    try:
        raise error
    except BaseException:
        shell.showtraceback()


def alias(shell, line=""):
    """Define an alias for a system command. ``%alias NAME COMMAND``; alone it lists them."""
    from .environment import ALIASES, MAGICS as aliased, _alias

    name, _, command = line.strip().partition(" ")
    if not name:
        print("Total number of aliases: %d" % len(ALIASES))
        return sorted(ALIASES.items())
    if not command:
        print("%s: %s" % (name, ALIASES.get(name, "not an alias")))
        return None
    ALIASES[name] = command
    aliased[name] = _alias(command)
    shell.register_magic_function(lambda text, run=aliased[name]: run(shell, text), "line", name)
    return None


def unalias(shell, line=""):
    """Remove an alias."""
    from .environment import ALIASES

    if ALIASES.pop(line.strip(), None) is None:
        print("%s is not an alias" % line.strip())
    else:
        shell.magics_manager.magics["line"].pop(line.strip(), None)


def alias_magic(shell, line=""):
    """Create an alias for an existing magic. ``%alias_magic [-l] [-c] NAME TARGET``"""
    given = words(line)
    kinds = [kind for flag, kind in (("-l", "line"), ("-c", "cell")) if flag in given]
    names = [word.lstrip("%") for word in given if not word.startswith("-")]
    if len(names) != 2:
        raise UsageError("%alias_magic needs a name and a target")
    name, target = names
    for kind in kinds or ("line", "cell"):
        mark = "%" if kind == "line" else "%%"
        if shell.find_magic(target, kind) is not None:
            shell.magics_manager.register_alias(name, target, kind)
            print("Created `%s%s` as an alias for `%s%s`." % (mark, name, mark, target))
        elif kinds:
            raise UsageError("Magic `%s%s` not found." % (mark, target))


def rehashx(shell, line=""):
    """Accepted: commands are found when they are used."""


def _absent(name, reason):
    def magic(shell, line=""):
        print("%%%s has no effect here: %s" % (name, reason), file=sys.stderr)

    magic.__doc__ = "Accepted without effect: %s" % reason
    return magic


_LOG = "cells and their outputs are kept in the notebook."
_TERMINAL = "there is no terminal."

MAGICS = {
    "config": config,
    "precision": precision,
    "pprint": pprint,
    "xmode": xmode,
    "colors": colors,
    "automagic": automagic,
    "autoawait": autoawait,
    "autocall": autocall,
    "pdb": pdb,
    "debug": debug,
    "tb": tb,
    "alias": alias,
    "unalias": unalias,
    "alias_magic": alias_magic,
    "store": _absent("store", "variables are not kept between sessions; write them to a file instead."),
    "bookmark": _absent("bookmark", "folders have no bookmarks; use %cd with a path."),
    "rehashx": rehashx,
    "edit": _absent("edit", "there is no editor to open."),
    "doctest_mode": _absent("doctest_mode", _TERMINAL),
    "page": _absent("page", _TERMINAL),
    "killbgscripts": _absent("killbgscripts", "children end with the kernel."),
    "connect_info": _absent("connect_info", "this kernel has no ports."),
    "qtconsole": _absent("qtconsole", "this kernel has no ports."),
    "autosave": _absent("autosave", "every change of a notebook is saved."),
}
for _name in ("logstart", "logstop", "logon", "logoff", "logstate"):
    MAGICS[_name] = _absent(_name, _LOG)
