"""`IPython.display`: everything notebooks import from there, from its several homes."""

from .core.display import *  # noqa: F401,F403
from .core.display import display_pretty, display_html, display_markdown, display_svg  # noqa: F401
from .core.display import display_png, display_jpeg, display_latex, display_json  # noqa: F401
from .core.display import display_javascript, display_pdf  # noqa: F401
from .core.display_functions import *  # noqa: F401,F403
from .lib.display import *  # noqa: F401,F403
