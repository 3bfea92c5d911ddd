"""Calls code of libraries about their objects: drops the text it prints, and limits the time of its Python code.

Owns the streams and the profile function while a question is answered. It must not know the questions.
"""

import sys
import time
from _thread import get_ident

from .looks import is_of_library

# How many seconds one object may compute to describe itself, and how many it may take in all if it waits or the
# machine is busy.
_SECONDS_EACH = 0.5
_SECONDS_WAITED = 5


class _Stopped(BaseException):
    """Ends a call. Not an `Exception`, so that code that catches everything lets it pass."""


class LookupFailed(Exception):
    """The call about an object failed. The text says why in a few words."""


class _Deaf:
    """A text stream that drops the text that the question's thread writes. Other threads still write."""

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
    """Keeps this thread from printing while a question is answered."""

    def __enter__(self):
        self._kept = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = _Deaf(sys.stdout), _Deaf(sys.stderr)

    def __exit__(self, *error):
        sys.stdout, sys.stderr = self._kept
        return False


def ask(function, *arguments, seconds=_SECONDS_EACH):
    """Calls code of a library and returns its value. Raises `LookupFailed` in place of any error, if the call reaches
    code of the user, and if its Python code runs for too long. Only an interrupt stops C code."""
    end, last = time.monotonic() + seconds, time.monotonic() + max(seconds, _SECONDS_WAITED)
    computed = time.thread_time() + seconds

    def watch(frame, event, argument):
        module = frame.f_globals.get("__name__")
        # Code that a library generated does not have the globals of a loaded module.
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
    """The time limit for all calls of one answer together."""

    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    @property
    def is_over(self):
        return time.monotonic() > self._end
