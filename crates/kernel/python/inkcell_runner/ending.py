"""Ends a runner as Python ends a program, with the steps that are safe here.

Owns the order of the steps: wait for threads, run the functions of `atexit`, release the user's names, flush open
files. The interpreter itself stays up. A thread that still runs could hang the shutdown, and the runner must be there
to end its group after all else.
"""

import sys

# Releasing the last name of such a value frees nothing else.
_SIMPLE = (int, float, complex, bool, str, bytes, type(None))


class _Enough(BaseException):
    """The host allows no more time for a step."""

    was_said = False


def end(session):
    """Runs the remaining steps. A step may fail, or the host's SIGTERM may cut it short. The next step runs anyway."""
    import _signal

    def cut(number, frame):
        _Enough.was_said = True
        raise _Enough

    # Write files before names are released: in a cycle of objects, Python may close a file before the text layer above
    # it is flushed.
    steps = (_wait_for_threads, _run_exit_functions, _write_files, _let_go)
    if "threading" in sys.modules:
        # Write files first: a step that takes too long must not cost what the user has written already.
        steps = (_write_files, *steps)
    for step in steps:
        try:
            _signal.signal(_signal.SIGTERM, cut)
            step(session)
        except BaseException:
            # The step reported its error on standard error.
            pass
        try:
            session.flush()
            session.channel.release()
        except BaseException:
            pass


def _wait_for_threads(session):
    """Waits for threads that are not daemons, as Python does, until the host allows no more time."""
    threading = sys.modules.get("threading")
    if threading is None:
        return
    try:
        # Thread pools tell their threads to end here.
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
    """Releases the user's names in Python's own order, so that files are closed and `__del__` runs."""
    from _thread import _count

    if _count() > session.own_threads:
        # A running thread would see its names vanish. Python stops such threads; the runner cannot.
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
    """Flushes all open files, whatever object holds them."""
    import gc
    import io

    texts, buffers = _with_subclasses(io.TextIOWrapper), _with_subclasses(io.BufferedWriter)
    buffers |= _with_subclasses(io.BufferedRandom)
    # Compare real classes: an object that only looks like a file may run any code when asked for its class.
    both = texts | buffers
    held = [one for one in gc.get_objects() if type(one) in both]
    # Flush text first: it goes into the binary layer below.
    for one in sorted(held, key=lambda one: type(one) in buffers):
        try:
            one.flush()
        except Exception:
            # The file is closed or its disk is full. Python does not report this either.
            pass


def _with_subclasses(kind):
    found = {kind}
    for one in kind.__subclasses__():
        found |= _with_subclasses(one)
    return found
