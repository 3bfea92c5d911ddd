"""`IPython.display`: everything notebooks import from there, from its several homes."""

from .core.display import *  # noqa: F401,F403
from .core.display_functions import *  # noqa: F401,F403
from .lib.display import *  # noqa: F401,F403
