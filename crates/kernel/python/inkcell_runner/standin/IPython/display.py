"""`IPython.display`: all names that notebooks import from there, gathered from several modules."""

from .core.display import *  # noqa: F401,F403
from .core.display_functions import *  # noqa: F401,F403
from .lib.display import *  # noqa: F401,F403
