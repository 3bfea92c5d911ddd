"""Helpers for IPython's tracebacks: text without colours, frames without those of the runner, exception groups.

Owns only these helpers; it must not know shells or sessions.
"""

import os
import re
from types import TracebackType

_ESCAPES = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?)")
_OWN = os.path.dirname(__file__) + os.sep


def plain(text):
    """Removes the colours from a text."""
    return _ESCAPES.sub("", text)


def without_own_frames(trace):
    """Removes the runner's frames from a traceback, because the user knows nothing of them."""
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_OWN):
            kept.append(trace)
        trace = trace.tb_next
    result = None
    for one in reversed(kept):
        result = TracebackType(result, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return result


def has_group(error):
    """Whether an exception, or an exception it came from, is a group of exceptions."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        # Before Python 3.11, only a package has groups, and their class can have any name.
        if isinstance(getattr(error, "exceptions", None), tuple) and hasattr(error, "derive"):
            return True
        error = error.__context__
    return False
