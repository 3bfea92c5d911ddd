"""What IPython's tracebacks are made of and made into: frames that are the user's, text without colours.

Owns nothing but these questions; it must not know shells or sessions.
"""

import os
import re
from types import TracebackType

_ESCAPES = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?)")
_OWN = os.path.dirname(__file__) + os.sep


def plain(text):
    """Text without its colours."""
    return _ESCAPES.sub("", text)


def without_own_frames(trace):
    """A traceback without the frames of the runner, of which the user knows nothing."""
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
    """Whether an exception, or one it came from, is a group of exceptions."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        # Python before 3.11 has groups as a package only, under any name.
        if isinstance(getattr(error, "exceptions", None), tuple) and hasattr(error, "derive"):
            return True
        error = error.__context__
    return False
