"""Separates the prelude's helpers from IPython's magics of the same names.

Owns which of the two a word means. It must not know which kernel the shell belongs to.
"""

from IPython.core.prefilter import PrefilterChecker
from traitlets import Any, Integer

from . import automagic


class HelperChecker(PrefilterChecker):
    """Reads a word that is both a magic and a helper of the prelude as the magic, unless the line calls the helper."""

    # Right before IPython's own check for magics, which takes a helper for a name of the user.
    priority = Integer(690).tag(config=True)
    # Returns the session. The shell may exist before the session does.
    session = Any()

    def check(self, line_info):
        name, shell = line_info.ifun, self.shell
        if not shell.automagic or not automagic.is_helper(self.session(), name) or shell.find_magic(name) is None:
            return None
        rest = line_info.the_rest
        end = line_info.line.lstrip()[len(name): len(name) + 1]
        if automagic.is_python(end, rest, True):
            return None
        return self.prefilter_manager.get_handler_by_name("magic")


def install(shell, session):
    """Lets a shell tell helpers from magics. `session` returns the session that has the helpers."""
    manager = shell.prefilter_manager
    HelperChecker(shell=shell, prefilter_manager=manager, parent=manager, session=session)
