"""The event loop of a copied kernel: the copy keeps the loop object and opens its descriptors anew.

Owns the conditions.  The loop must be Python's own and must not wait for anything: a copy has neither the threads nor
the processes that would finish that work.
"""


def descriptors(loop):
    """Returns the descriptors of the loop that a copy can open anew; none for loops of another kind."""
    if not _is_known(loop):
        return ()
    return loop._selector.fileno(), loop._ssock.fileno(), loop._csock.fileno()


def why_not(loop):
    """Returns a sentence about the work left in the loop that a copy cannot finish, or None."""
    if not _is_known(loop):
        return None
    import asyncio

    tasks = len(asyncio.all_tasks(loop))
    if tasks > 0:
        return "the cells left %d task%s unfinished" % (tasks, "" if tasks == 1 else "s")
    # The loop itself has one entry.
    if len(loop._selector.get_map()) > 1 or loop._signal_handlers:
        return "the cells have the event loop wait for a file or a signal"
    return None


def renew(loop):
    """Opens the descriptors of the loop anew. Call it in the copy."""
    if not _is_known(loop):
        return
    selector = loop._selector
    loop._selector = type(selector)()
    # Only close it. Removing an entry would remove it from the selector of the original, too.
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


# The attributes that `renew` changes. Another version of Python may name them differently.
_PARTS = ("_selector", "_ssock", "_csock", "_internal_fds", "_signal_handlers")
