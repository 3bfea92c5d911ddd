"""The event loop of a kernel that is copied: the copy has the same loop, and what the system holds for it anew.

Owns whether that can be done.  It can for Python's own loop if nothing is left in it: what it waits for, somebody
else would have to do.
"""


def descriptors(loop):
    """What the loop has open, as far as a copy can open it anew; nothing for loops of another kind."""
    if not _is_known(loop):
        return ()
    return loop._selector.fileno(), loop._ssock.fileno(), loop._csock.fileno()


def why_not(loop):
    """What is left in the loop that a copy cannot go on with, or None."""
    if not _is_known(loop):
        return None
    import asyncio

    tasks = len(asyncio.all_tasks(loop))
    if tasks > 0:
        return "the cells left %d task%s unfinished" % (tasks, "" if tasks == 1 else "s")
    # One is its own.
    if len(loop._selector.get_map()) > 1 or loop._signal_handlers:
        return "the cells have the event loop wait for a file or a signal"
    return None


def renew(loop):
    """In the copy."""
    if not _is_known(loop):
        return
    selector = loop._selector
    loop._selector = type(selector)()
    # Only closed: to take something out of it would take it out of the original's, too.
    selector.close()
    loop._ssock.close()
    loop._csock.close()
    loop._internal_fds -= 1
    loop._make_self_pipe()


def _is_known(loop):
    if loop is None or loop.is_closed():
        return False
    import asyncio

    return type(loop) is asyncio.SelectorEventLoop and all(map(loop.__dict__.__contains__, _PARTS))


# What is changed; another version of Python may call it by other names.
_PARTS = ("_selector", "_ssock", "_csock", "_internal_fds", "_signal_handlers")
