"""Answers questions about a session between cells: its variables, a table, help, completion.

Owns the kinds of questions, and the rule that an answer leaves nothing behind: no count, no history, no name, no
output. An answer is plain JSON values (text, whole numbers, lists, objects) of bounded size. This module must not know
how to find an answer; each kind of question has its own module.
"""

import os
import sys

from ..interrupt import shielded

# The subjects of questions, each with the module that answers it.
KINDS = {
    "variables": "variables",
    "variable": "variables",
    "table": "table",
    "help": "docs",
    "complete": "complete",
    "names": "names",
}


class QuestionError(Exception):
    """The question cannot be answered. The text says why and what to do instead."""


def answer(session, question):
    """Returns the answer to one question as a dict. Raises `QuestionError` if there is none."""
    what = question.get("what")
    if what not in KINDS:
        raise QuestionError("There is no question %r; there are %s." % (what, ", ".join(KINDS)))
    module = _load(KINDS[what])
    with _load("quiet").Quiet():
        return getattr(module, "answer_" + what)(session, question)


def names_of_run(session, code, returned):
    """Returns the names that a finished cell uses and makes, or None. `returned` is the id of its last value."""
    with _load("quiet").Quiet():
        return _load("names").find_names(session, code, returned)


def _load(name):
    """Loads a module of this package. Its imports from the standard library must not find a file of the user."""
    full = __name__ + "." + name
    if full in sys.modules:
        return sys.modules[full]
    library = os.path.dirname(os.__file__)
    kept, sys.path = sys.path, [library, os.path.join(library, "lib-dynload"), *sys.path]
    try:
        return __import__(full, fromlist=["*"])
    finally:
        sys.path = kept


def _answer_in_json(session, question):
    from ..channel import to_json

    return to_json(answer(session, question)).encode("ascii")


@shielded
def reply(session, command):
    """Answers a command of the host with one frame. Never raises."""
    from ..channel import to_json

    session.interrupt.keep()
    failed, payload = None, b""
    try:
        payload = session.interrupt.call(_answer_in_json, session, command["question"])
    except QuestionError as problem:
        failed = str(problem)
    except KeyboardInterrupt:
        failed = "The question was interrupted."
    except BaseException as problem:
        failed = "The question could not be answered: %s" % type(problem).__name__
    session.interrupt.ignore()
    fields = '"id":%d' % command["id"]
    if failed is not None:
        fields, payload = fields + ',"failed":' + to_json(failed), b""
    session.channel.send("answer", fields, (payload,))
