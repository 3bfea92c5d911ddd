"""Stand-in for IPython where it is not installed: rich display and `get_ipython`, nothing more.

Owns the names that notebooks import.  inkcell's runner does all the work; this folder comes last on the path,
so an installed IPython always wins.
"""

# Users who print the version see what this is.  Code only compares `version_info`, to choose between ways of
# calling IPython, and the ways of a current IPython work here.
__version__ = "0.0+inkcell"
version_info = (9, 0, 0, "")
__inkcell__ = True

from .core.getipython import get_ipython  # noqa: E402
from .display import display  # noqa: E402

__all__ = ["display", "get_ipython", "version_info"]
