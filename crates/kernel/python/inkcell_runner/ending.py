"""The end of a runner: what the end of a Python program does, as far as it is safe here.

Owns the order of it: threads are waited for, functions of `atexit` run, the user's names are let go, open
files written out. The interpreter itself is not taken down: a thread that still runs could hang on that,
and the runner must be there to end its group after all else.
"""

import sys

# What is let go with its last name, and holds nothing.
_SIMPLE = (int, float, complex, bool, str, bytes, type(None))


class _Enough(BaseException):
    """The host has no more time for a step."""

    was_said = False


def end(session):
    """Does what is left to do. Each step may fail or be cut short by the host's SIGTERM; the next is done
    all the same."""
    import _signal

    def cut(number, frame):
        _Enough.was_said = True
        raise _Enough

    # Before names are let go: in a circle of objects, Python may close a file below its text.
    steps = (_wait_for_threads, _run_exit_functions, _write_files, _let_go)
    if "threading" in sys.modules:
        # What may take too long must not cost what is written already.
        steps = (_write_files, *steps)
    for step in steps:
        try:
            _signal.signal(_signal.SIGTERM, cut)
            step(session)
        except BaseException:
            # It has said what it had to say on standard error.
            pass
        try:
            session.flush()
            session.channel.release()
        except BaseException:
            pass


def _wait_for_threads(session):
    """Those that are no daemons are waited for, as Python does, until the host has no more time."""
    threading = sys.modules.get("threading")
    if threading is None:
        return
    try:
        # Pools of threads tell theirs to end here.
        for function in reversed(getattr(threading, "_threading_atexits", ())):
            function()
        while True:
            left = _others(threading)
            if not left:
                break
            if _Enough.was_said:
                raise _Enough
            left[0].join()
    except _Enough:
        names = [one.name for one in _others(threading)]
        print("inkcell: still running at the end, and ended: " + ", ".join(names[:10]), file=sys.stderr)


def _others(threading):
    own = (threading.main_thread(), threading.current_thread())
    return [one for one in threading.enumerate() if not one.daemon and one not in own]


def _run_exit_functions(session):
    import atexit

    atexit._run_exitfuncs()


def _let_go(session):
    """Lets the user's names go, in Python's own order, so that files are closed and `__del__` runs."""
    from _thread import _count

    if _count() > session.own_threads:
        # A thread would see its names vanish; Python stops those, which cannot be done here.
        return
    namespace = session.namespace
    mine = [name for name in namespace if session.hidden.get(name, namespace) is not namespace[name]]
    is_simple = all(type(namespace[name]) in _SIMPLE for name in mine)
    session.outputs.clear()
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        sys.__dict__.pop(name, None)
    for is_private in (True, False):
        for name in mine:
            if name.startswith("_") is is_private and name not in ("__builtins__", "__name__"):
                namespace[name] = None
    if not is_simple:
        import gc

        gc.collect()
        _write_files(session)


def _write_files(session):
    """Writes out what open files hold back, whoever holds them."""
    import gc
    import io

    texts, buffers = _with_subclasses(io.TextIOWrapper), _with_subclasses(io.BufferedWriter)
    buffers |= _with_subclasses(io.BufferedRandom)
    # By their real class: what only looks like a file may do anything when it is asked.
    both = texts | buffers
    held = [one for one in gc.get_objects() if type(one) in both]
    # Text first: it goes into the bytes below.
    for one in sorted(held, key=lambda one: type(one) in buffers):
        try:
            one.flush()
        except Exception:
            # Closed, or its place is full; Python says nothing of it either.
            pass


def _with_subclasses(kind):
    found = {kind}
    for one in kind.__subclasses__():
        found |= _with_subclasses(one)
    return found
