"""The real IPython, if the user's Python has it, connected to this session.

Owns the two methods of IPython's shell class that are answered here, and the attributes that IPython's display
code needs from a shell and ours lacks.  It must not import IPython itself.
"""

import sys

import inkcell_runner
from .displays import display_pub
from .formatting import display_formatter


class _NoEvents:
    def register(self, event, function):
        """Accepts hooks for events that this kernel does not have."""

    unregister = trigger = register


class _ShellView:
    """The session's shell with the additional attributes that IPython's display code needs."""

    def __getattr__(self, name):
        try:
            return getattr(inkcell_runner.current().shell, name)
        except AttributeError:
            if name in _SHELL_PARTS:
                return _SHELL_PARTS[name]
            raise


_SHELL_PARTS = {
    "display_pub": display_pub,
    "display_formatter": display_formatter,
    "events": _NoEvents(),
    "configurables": [],
}
_view = _ShellView()


def hosted_shell():
    """The result of `get_ipython()` in the real IPython: the session's own shell if it has all that is needed."""
    shell = getattr(inkcell_runner.current(), "shell", None)
    return shell if all(hasattr(shell, name) for name in _SHELL_PARTS) else _view


def hook_real_ipython():
    """Connects an imported IPython to this session; safe to call at any time and repeatedly.

    IPython asks one class whether a shell exists and for that shell.  Answering there reaches `display`,
    `clear_output`, handles and `get_ipython()`, even if they were imported before.
    """
    module = sys.modules.get("IPython.core.interactiveshell")
    shell_class = getattr(module, "InteractiveShell", None)
    if shell_class is None or "_inkcell" in shell_class.__dict__ or hasattr(sys.modules.get("IPython"), "__inkcell__"):
        return
    initialized, instance = shell_class.initialized.__func__, shell_class.instance.__func__

    def is_ours(cls):
        # A shell that the user's code really made takes precedence. A process that only preloads modules has no
        # session and so no shell.
        return cls is shell_class and not initialized(cls) and _has_session()

    def shell():
        found = hosted_shell()
        if not isinstance(found, module.InteractiveShellABC):
            module.InteractiveShellABC.register(type(found))
        return found

    shell_class._inkcell = True
    shell_class.initialized = classmethod(lambda cls: is_ours(cls) or initialized(cls))
    shell_class.instance = classmethod(
        lambda cls, *args, **kwargs: shell() if is_ours(cls) else instance(cls, *args, **kwargs)
    )


def _has_session():
    try:
        return inkcell_runner.current() is not None
    except RuntimeError:
        return False
