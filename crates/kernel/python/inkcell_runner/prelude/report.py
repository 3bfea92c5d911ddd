"""How helpers speak to the session: status events and the cuts of E-40.

Owns the limits and the one way to the session. Must not know any helper.
"""

PREVIEW = 500
TREE_PREVIEW = 1000
NAMES = 20
HITS = 10
HIT_TEXT = 100


def session():
    """The session of this process, asked anew each time because a fork changes it."""
    from .. import current

    return current()


def status(op, **fields):
    """Send one status event."""
    session().status(op, **fields)


def preview(text, limit=PREVIEW):
    """The beginning of a text, as much of it as a status event may carry."""
    return text[:limit]


def names(paths):
    """The first names of a list, as text."""
    return [str(path) for path in paths[:NAMES]]
