"""The fork server: one process that has imported everything, and hands out copies of itself.

Owns forking and reaping. A copy is a runner like any other: it depends on the host by its lifeline, not
on this process, and nothing of this process's channel reaches it.
"""

import gc
import os
import signal
import socket
import sys

# What every runner imports sooner or later; here it is paid for once.
_USUAL = (
    "json",
    "linecache",
    "inkcell_runner.__main__",
    "inkcell_runner.session",
    "inkcell_runner.imports",
    "inkcell_runner.formatting",
    "inkcell_runner.pretty",
    "inkcell_runner.tracebacks",
    "inkcell_runner.prelude",
)

# Thread pools that are idle when nobody computes and are started anew in a copy that does.
_POOLS = ("openblas", "libmkl", "libgomp", "libiomp", "libomp", "libblis")


def _preload(names):
    """Imports modules; gives those that could not be, with the reason."""
    failed = {}
    for name in names:
        try:
            __import__(name)
        except BaseException as problem:
            failed[name] = "%s: %s" % (type(problem).__name__, problem)
    return failed


def _why_not_fork():
    """Why a copy would not be sound now, or None. A fork keeps only the thread that forks."""
    if "threading" in sys.modules:
        alive = sys.modules["threading"].active_count()
        if alive > 1:
            return "%d Python threads run in the fork server" % alive
    try:
        threads = len(os.listdir("/proc/self/task"))
        with open("/proc/self/maps") as maps:
            mapped = maps.read().lower()
    except OSError:
        return "threads cannot be counted here"
    if threads > 1 and not any(pool in mapped for pool in _POOLS):
        return "%d threads of unknown origin run in the fork server" % threads
    if "libcuda.so" in mapped:
        return "a GPU library is loaded in the fork server"
    return None


def _reseed():
    """Copies must not draw the same numbers."""
    if "random" in sys.modules:
        sys.modules["random"].seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed()


def _become_runner(own, fds, request):
    """In the copy: takes its own descriptors and environment, and runs."""
    signal.set_wakeup_fd(-1)
    for fd in own:
        os.close(fd)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    control, lifeline, out, err = fds
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    os.environ.clear()
    os.environ.update(request["env"])
    if hasattr(__import__("time"), "tzset"):
        __import__("time").tzset()
    _reseed()
    # A namespace of its own: what this process did is no business of the user's.
    fresh = type(sys)("__main__")
    sys.modules["__main__"] = fresh
    from inkcell_runner.__main__ import main

    main(control, lifeline)


def serve(fd, preload):
    """Answers requests until the host is gone."""
    from inkcell_runner.__main__ import close_others
    from inkcell_runner.channel import _scan, to_json

    close_others(fd)
    channel = socket.socket(fileno=fd)
    wake_read, wake_write = os.pipe()
    for end in (wake_read, wake_write):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def say(kind, **fields):
        line = '{"t":"%s"%s}\n' % (kind, "".join(',"%s":%s' % (k, to_json(v)) for k, v in fields.items()))
        channel.sendall(line.encode())

    failed = _preload(_USUAL + tuple(preload))
    # Objects that exist now are left alone by the collector, so that copies share their pages.
    gc.collect()
    gc.freeze()
    say("ready", failed=failed)
    buffer, waiting = b"", []
    import select

    while True:
        readable, _, _ = select.select([channel, wake_read], [], [])
        if wake_read in readable:
            os.read(wake_read, 4096)
            while True:
                try:
                    pid, status = os.waitpid(-1, os.WNOHANG)
                except ChildProcessError:
                    break
                if pid == 0:
                    break
                say("exit", pid=pid, status=status)
        if channel not in readable:
            continue
        data, fds, _, _ = socket.recv_fds(channel, 1 << 16, 4)
        if not data:
            os._exit(0)
        waiting += fds
        buffer += data
        while b"\n" in buffer:
            line, buffer = buffer.split(b"\n", 1)
            request, taken = _scan(line.decode(), 0)[0], waiting[:4]
            del waiting[:4]
            reason = _why_not_fork()
            if reason is not None or len(taken) != 4:
                say("refused", reason=reason or "descriptors did not arrive")
            else:
                pid = os.fork()
                if pid == 0:
                    try:
                        _become_runner((channel.detach(), wake_read, wake_write), taken, request)
                    finally:
                        os._exit(70)
                say("forked", pid=pid)
            for one in taken:
                os.close(one)
