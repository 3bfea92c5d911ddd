"""Reports of helpers to the session: status events and the limits of E-40.

Owns the limits and the only path to the session. Must not know any helper.
"""

PREVIEW = 500
TREE_PREVIEW = 1000
NAMES = 20
HITS = 10
HIT_TEXT = 100


def session():
    """The session of this process, looked up each time because a fork changes it."""
    from .. import current

    return current()


def status(op, **fields):
    """Send one status event."""
    session().status(op, **fields)


def preview(text, limit=PREVIEW):
    """The beginning of a text, cut to the length that a status event may carry."""
    return text[:limit]


def names(paths):
    """The first names of a list, as text."""
    return [str(path) for path in paths[:NAMES]]
