"""Helpers of the prelude in IPython's shell, where some have the names of magics.

Owns which of the two a word is. It must not know which kernel the shell belongs to.
"""

from IPython.core.prefilter import PrefilterChecker
from traitlets import Any, Integer

from . import automagic


class HelperChecker(PrefilterChecker):
    """A word that is both a magic and a helper of the prelude is the magic, unless the helper is called."""

    # Just before IPython's own look at magics, to which a helper is a name of the user's.
    priority = Integer(690).tag(config=True)
    # Gives the session: the shell may be made before it.
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
    """Lets a shell tell the two apart; `session` gives the one whose helpers they are."""
    manager = shell.prefilter_manager
    HelperChecker(shell=shell, prefilter_manager=manager, parent=manager, session=session)
