"""The fork server: a process that has imported every module and forks copies of itself.

Owns forking and reaping. A copy is a runner like any other: its lifeline ties it to the host, not to this process, and
it does not have the channel of this process.

A page of memory that either side writes to, even to count a reference, costs every copy a page. So the loop and the
first steps of a copy are short, and call C directly where Python's wrappers would do.
"""

import _signal
import os
import select
import socket
import sys

from .forkhooks import ForkHooks, quiet_fork
from .preload import settle, warm_up
from .reaping import reap
from .seeds import Seeds


def _become_runner(own, fds, session, hooks, seeds):
    """In the copy: takes its own descriptors and runs."""
    _signal.set_wakeup_fd(-1)
    for fd in own:
        os.close(fd)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    os.setsid()
    control, lifeline, host, out, err = fds
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    hooks.hand_over()
    seeds.renew()
    from .__main__ import main

    main(control, lifeline, host, session)


def serve(fd, shell, path="", *preload):
    """Answers requests until the host is gone. A request is one byte with the five descriptors of a
    runner."""
    from .__main__ import close_others, set_path
    from .channel import to_json
    from .threads import ThreadWatch

    fd = int(fd)
    close_others(fd)
    set_path(path)
    channel = socket.socket(fileno=fd)
    wake_read, wake_write = os.pipe()
    for end in (wake_read, wake_write):
        os.set_blocking(end, False)
    _signal.set_wakeup_fd(wake_write)
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)

    def say(kind, fields):
        channel.sendall(b'{"t":"%s",%s}\n' % (kind, fields))

    hooks = ForkHooks()
    watch = ThreadWatch()
    failed = warm_up(shell, preload, watch.note)
    seeds = Seeds()
    session = settle(shell, seeds)
    hooks.close()
    watch.note("the modules to preload")
    # The session has installed a handler, which is meant for copies.
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    own = (fd, wake_read, wake_write)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.register(wake_read, select.POLLIN)
    # If there are no warnings to silence, a plain fork writes to less memory.
    fork = quiet_fork if sys.warnoptions else os.fork
    # Tell the host at once if no copies can be made.
    say(b"ready", b'"failed":%s,"refused":%s' % (to_json(failed).encode(), to_json(watch.why_not_fork()).encode()))
    while True:
        for ready, _ in poll.poll():
            if ready == wake_read:
                reap(wake_read, say)
                continue
            data, control, _, _ = channel.recvmsg(1, 64)
            if not data:
                os._exit(0)
            taken = memoryview(control[0][2]).cast("i").tolist() if control else []
            reason = watch.why_not_fork() if len(taken) == 5 else "descriptors did not arrive"
            if reason is not None:
                say(b"refused", b'"reason":' + to_json(reason).encode())
            else:
                pid = fork()
                if pid == 0:
                    try:
                        channel.detach()
                        _become_runner(own, taken, session, hooks, seeds)
                    finally:
                        os._exit(70)
                say(b"forked", b'"pid":%d' % pid)
            for one in taken:
                os.close(one)
