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
    "fcntl",
    "json",
    "linecache",
    "warnings",
    "inkcell_runner.__main__",
    "inkcell_runner.session",
    "inkcell_runner.imports",
    "inkcell_runner.formatting",
    "inkcell_runner.layout",
    "inkcell_runner.pretty",
    "inkcell_runner.mime",
    "inkcell_runner.displays",
    "inkcell_runner.tracebacks",
    "inkcell_runner.excerpts",
    "inkcell_runner.ending",
    "inkcell_runner.prelude",
)

# What each shell needs besides.
_SHELLS = {"lite": (), "ipython": ("inkcell_runner.ipython_preload",)}


def warm_up(shell, preload, note=None):
    """Imports what every runner needs and what was asked for; gives what of the latter could not be, with
    reasons. `note` is called with each name when it has been imported."""
    failed = {}
    for name in _USUAL + _SHELLS[shell] + tuple(preload):
        try:
            __import__(name)
        except BaseException as problem:
            # A shell that is not there is the runner's to report: without it there is no kernel.
            if name in preload:
                failed[name] = "%s: %s" % (type(problem).__name__, problem)
        if note is not None:
            note(name)
    if "numpy" in sys.modules:
        __import__("numpy.random")
    if shell == "lite" and "matplotlib.pyplot" in sys.modules:
        # What every copy would do before its first cell.
        from .figures import use_inline

        os.environ.setdefault("MPLBACKEND", "Agg")
        use_inline()
    return failed


def _reseed():
    """Copies must not draw the same numbers."""
    if "random" in sys.modules:
        sys.modules["random"].seed()
    # Asked for by attribute it would be imported, in every copy.
    numbers = sys.modules.get("numpy.random")
    if numbers is not None:
        numbers.seed()


def _become_runner(own, fds):
    """In the copy: takes its own descriptors, and runs."""
    signal.set_wakeup_fd(-1)
    for fd in own:
        os.close(fd)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    control, lifeline, host, out, err = fds
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    _reseed()
    # A namespace of its own: what this process did is no business of the user's.
    fresh = type(sys)("__main__")
    sys.modules["__main__"] = fresh
    from inkcell_runner.__main__ import main

    main(control, lifeline, host)


def serve(fd, shell, *preload):
    """Answers requests until the host is gone. A request is one byte with the five descriptors of a
    runner."""
    from inkcell_runner.__main__ import close_others
    from inkcell_runner.channel import to_json

    fd = int(fd)
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

    from inkcell_runner.threads import ThreadWatch

    watch = ThreadWatch()
    failed = warm_up(shell, preload, watch.note)
    # Objects that exist now are left alone by the collector, so that copies share their pages.
    gc.collect()
    gc.freeze()
    say("ready", failed=failed)
    waiting = []
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
        data, fds, _, _ = socket.recv_fds(channel, 64, 64)
        if not data:
            os._exit(0)
        waiting += fds
        for _ in data:
            taken = waiting[:5]
            del waiting[:5]
            reason = watch.why_not_fork()
            if reason is not None or len(taken) != 5:
                say("refused", reason=reason or "descriptors did not arrive")
            else:
                pid = os.fork()
                if pid == 0:
                    try:
                        _become_runner((channel.detach(), wake_read, wake_write), taken)
                    finally:
                        os._exit(70)
                say("forked", pid=pid)
            for one in taken:
                os.close(one)
