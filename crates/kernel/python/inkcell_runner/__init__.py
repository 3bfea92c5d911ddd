"""The embedded runner: a Python that runs cells and reports what happens.

Owns nothing itself; it only knows which session is the current one. Everything here is written
against the standard library of CPython 3.9 and newer, and modules that a plain cell does not need are
imported when they are first needed: the start of a kernel is mostly imports.
"""

from . import bytecode  # noqa: F401

_current = None


def current():
    """The session of this process."""
    if _current is None:
        raise RuntimeError("no inkcell session runs in this process")
    return _current


def _set_current(session):
    global _current
    _current = session
