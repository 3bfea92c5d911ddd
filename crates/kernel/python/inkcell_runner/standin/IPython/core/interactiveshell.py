"""The class on which notebooks set options; the options reach the shell of the current session."""

from .getipython import get_ipython


class _Options(type):
    """Passes reading and setting of class attributes to the shell."""

    def __setattr__(cls, name, value):
        if name.startswith("_"):
            type.__setattr__(cls, name, value)
        else:
            setattr(get_ipython(), name, value)

    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(get_ipython(), name)


class InteractiveShell(metaclass=_Options):
    """Stands for its one instance, the shell of the session."""

    @classmethod
    def initialized(cls):
        return True

    @classmethod
    def instance(cls, *args, **kwargs):
        return get_ipython()


class InteractiveShellABC:
    """Exists only so that code can import it."""
