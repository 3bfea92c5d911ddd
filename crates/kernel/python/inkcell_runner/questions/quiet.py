"""Asking objects of libraries: what they print is dropped, and their Python code has a time limit.

Owns the streams and the profile function while a question is answered. It must not know what is asked.
"""

import sys
import time
from _thread import get_ident

from .looks import is_of_library

# How long one object may compute to describe itself, and how long it may take for that where it waits, or the machine is
# busy.
_SECONDS_EACH = 0.5
_SECONDS_WAITED = 5


class _Stopped(BaseException):
    """A look goes no further. Not an `Exception`, so that code that catches everything lets it pass."""


class LookupFailed(Exception):
    """An object could not be asked; the text says why in a few words."""


class _Deaf:
    """A text stream that drops what the thread of the question writes; other threads write on."""

    def __init__(self, stream):
        self._stream = stream
        self._thread = get_ident()

    def write(self, text):
        if get_ident() == self._thread:
            return len(text)
        return self._stream.write(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self._stream, name)


class Quiet:
    """While it lasts, this thread prints nothing."""

    def __enter__(self):
        self._kept = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = _Deaf(sys.stdout), _Deaf(sys.stderr)

    def __exit__(self, *error):
        sys.stdout, sys.stderr = self._kept
        return False


def ask(function, *arguments, seconds=_SECONDS_EACH):
    """What a call of library code gives. Raises `LookupFailed` in place of anything it raises, when it comes
    to code of the user's, and when its Python code runs for too long; only an interrupt stops C code."""
    end, last = time.monotonic() + seconds, time.monotonic() + max(seconds, _SECONDS_WAITED)
    computed = time.thread_time() + seconds

    def watch(frame, event, argument):
        module = frame.f_globals.get("__name__")
        # Code that a library generated has globals of no module.
        if event == "call" and module in sys.modules and not is_of_library(module):
            raise _Stopped("would run code of yours")
        now = time.monotonic()
        if now > end and (now > last or time.thread_time() > computed):
            raise _Stopped("took too long")

    kept = sys.getprofile()
    sys.setprofile(watch)
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except _Stopped as reason:
        raise LookupFailed(str(reason)) from None
    except BaseException as problem:
        raise LookupFailed(type(problem).__name__) from None
    finally:
        sys.setprofile(kept)


class Clock:
    """How long all looks of one answer may take together."""

    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    @property
    def is_over(self):
        return time.monotonic() > self._end
