"""The class that notebooks set options on; they reach the shell of the current session."""

from .getipython import get_ipython


class _Options(type):
    """Hands what is set on or read from the class over to the shell."""

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
    """Only stands for its one instance, which is the session's."""

    @classmethod
    def initialized(cls):
        return True

    @classmethod
    def instance(cls, *args, **kwargs):
        return get_ipython()


class InteractiveShellABC:
    """Is here to be imported."""
