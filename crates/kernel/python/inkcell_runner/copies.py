"""Copies of a kernel that has run code: the same names in a process of their own.

Owns the conditions for a copy and the parts that a copy gets anew.  A copy is a runner like any other: it has its own
channel, pipes, group and lifeline, and shares none with the original.  A fork cannot copy threads, connections and open
files.  The runner looks for them first and names them as the reason for a refusal.

Each copy ends as any kernel does: functions of `atexit` run, names are deleted.  The original ends without that,
because the copies have taken over its work: cleaning up there too would be once too often.
"""

import _signal
import os
import re
import select
import sys
import time
from _thread import _count, allocate_lock

from . import loops
from .channel import to_json
from .forkhooks import quiet_fork
from .reaping import reap
from .threads import MemoryMap, Threads, count_threads, gpu_in_use, open_files, thread_name

# Calls that seed random numbers, by a word in their name. The word as a part of another, as in linseed, does not count.
_SEEDS = re.compile(r"(?<![A-Za-z])[Ss]eed|\bset_?state\b")

# Pauses in seconds before the next count of threads, for threads that are about to begin or end. The host has its
# answer within a fiftieth of a second.
_SETTLES = (0.001, 0.003)

_MEMORY = MemoryMap()


# Modules whose finalizers change only the process that ends. Numba is not one of them: its pool may end a forked
# process.
_HARMLESS_ENDS = ("torch.library",)


def _finalizers():
    """Whether the process cleans up something when it ends, such as a temporary folder."""
    weakref = sys.modules.get("weakref")
    registry = getattr(getattr(weakref, "finalize", None), "_registry", {})
    ends = [info.func for info in list(registry.values()) if info.atexit]
    return any(getattr(end, "__module__", None) not in _HARMLESS_ENDS for end in ends)


def _children():
    """Whether this process has children."""
    try:
        for task in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/children" % task) as file:
                if file.read().strip():
                    return True
    except OSError:
        # This system has no such list. The pipes of a child usually give it away.
        pass
    return False


def _threads(session):
    """Returns a sentence about the threads that a copy would lack, or None."""
    others = _count() - session.own_threads
    if others > 0:
        return "the cells left %d thread%s running" % (others, "" if others == 1 else "s")
    found = Threads(_MEMORY, (thread_name(session.flusher),))
    # Do not count the main thread and the two of the runner.
    native = found.plain - 3
    if found.is_stuck and native > 0:
        return "the cells left threads of libgomp running, which cannot be copied"
    strangers = len(found.named) + max(0, native - found.room)
    if strangers > 0:
        what = "thread running that is" if strangers == 1 else "threads running that are"
        return "the cells left %d %s not Python's%s" % (strangers, what, found.names())
    return None


def why_not(session, own):
    """Returns why a copy would not be sound now, or None. `own` is the descriptor of the connection to the host."""
    if session.hosted is not None:
        return "the kernel follows IPython's own rules, whose history is open in a file"
    if count_threads() is None:
        return "this system does not tell what a process has open"
    reason = _threads(session)
    for pause in _SETTLES:
        if reason is None:
            break
        # Python does not count a thread that has just begun, and the system still lists one that has just ended.
        time.sleep(pause)
        reason = _threads(session)
    # List the files after the threads: a thread may close its files as it ends.
    now = open_files()
    if now is None:
        return "this system does not tell what a process has open"
    gpu = gpu_in_use(now)
    if gpu is not None:
        return "the cells use a GPU (%s)" % gpu
    if reason is not None:
        return reason
    if _children():
        return "the cells left a process running"
    loop = session.executor.loop.existing()
    reason = loops.why_not(loop)
    if reason is not None:
        return reason
    ours = {0, 1, 2, own, *session.wires, *session.descriptors.numbers(), *loops.descriptors(loop)}
    for number, target in sorted(now.items()):
        if number not in ours and (not target.startswith("/dev/") or target.startswith("/dev/shm/")):
            return "the cells left %s open" % _named(target)
    if _MEMORY.is_shared:
        return "the cells share memory with other processes, which copies would write to together"
    if _finalizers():
        return "the cells made something that is removed when the process ends, such as a temporary folder"
    return None


def _named(target):
    if target.startswith("socket:"):
        return "a connection"
    if target.startswith("/dev/shm/"):
        return "shared memory"
    if target.startswith("pipe:") or target.startswith("anon_inode:"):
        return "a pipe or another event loop"
    return target


def serve(session, command):
    """Makes copies until the host closes the connection. A request is one byte with five descriptors, as for the fork
    server."""
    import _socket

    channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        reason = why_not(session, channel.fileno())
        if reason is None:
            session.flush()
            session.channel.release()
        channel.connect(b"\0" + command["name"].encode())

        def say(kind, fields):
            channel.sendall(b'{"t":"%s",%s}\n' % (kind, fields))

        if reason is not None:
            say(b"refused", b'"reason":' + to_json(reason).encode())
            # Wait until the host has read it. The host would take an early end for another reason.
            channel.settimeout(30)
            channel.recv(1)
            return
        _Server(session, channel, say, command).serve()
    except OSError:
        # The host is gone.
        pass
    finally:
        channel.close()


class _Server:
    def __init__(self, session, channel, say, command):
        self._session, self._channel, self._say = session, channel, say
        # If the code seeds random numbers, every copy draws the same ones; else each draws its own.
        self._keeps_seeds = _is_seeded(session)
        self._mark = command.get("mark") or "INKCELL_KERNEL"

    def serve(self):
        read, write = os.pipe()
        for end in (read, write):
            os.set_blocking(end, False)
        self._own = (read, write)
        self._wakeup = _signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        self._on_child = _signal.signal(_signal.SIGCHLD, lambda *_: None)
        try:
            self._say(b"ready", b'"failed":{}')
            self._loop(read)
        finally:
            _signal.set_wakeup_fd(self._wakeup)
            _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL if self._on_child is None else self._on_child)
            os.close(read)
            os.close(write)

    def _loop(self, wake):
        poll = select.poll()
        poll.register(self._channel.fileno(), select.POLLIN)
        # Readable if the host sends another command, or is gone.
        poll.register(self._session.channel.fd, select.POLLIN)
        poll.register(wake, select.POLLIN)
        while True:
            for ready, _ in poll.poll():
                if ready == wake:
                    reap(wake, self._say)
                elif ready == self._channel.fileno():
                    data, control, _, _ = self._channel.recvmsg(1, 64)
                    if not data:
                        return
                    self._copy(memoryview(control[0][2]).cast("i").tolist() if control else [])
                else:
                    return

    def _copy(self, fds):
        if len(fds) != 5:
            self._say(b"refused", b'"reason":"descriptors did not arrive"')
            return
        kept = self._random_state()
        try:
            with self._session.writing:
                pid = quiet_fork()
        except OSError as error:
            # Memory or processes are used up at the moment. The host then runs every cell itself.
            self._say(b"refused", b'"reason":' + to_json("no process can be made: %s" % error).encode())
        else:
            if pid == 0:
                try:
                    self._become(fds, kept)
                finally:
                    os._exit(70)
            self._session.has_copies = True
            self._say(b"forked", b'"pid":%d' % pid)
        for fd in fds:
            os.close(fd)

    def _random_state(self):
        random = sys.modules.get("random")
        return random.getstate() if self._keeps_seeds and random is not None else None

    def _become(self, fds, kept):
        """In the copy: replaces everything that belongs to the original, then runs as any other runner."""
        session = self._session
        # The copy opens its own pipe for signals later.
        _signal.set_wakeup_fd(-1)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL if self._on_child is None else self._on_child)
        for fd in self._own:
            os.close(fd)
        self._channel.close()
        os.setsid()
        # These are duplicates of the original's streams. They would hold its pipes open.
        session.descriptors.close()
        control, lifeline, host, out, err = fds
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.close(out)
        os.close(err)
        loops.renew(session.executor.loop.existing())
        self._draw_anew(kept)
        channel = session.channel
        channel.lock = allocate_lock()
        channel.buffer, channel.held, channel.sent, channel.sequence = b"", None, None, 0
        channel.is_busy, channel.after_send = False, None
        session.streams.renew()
        from .__main__ import main

        main(control, lifeline, host, session, self._mark)

    def _draw_anew(self, kept):
        if kept is not None:
            # Python seeds `random` anew in a child. The code chose another state.
            sys.modules["random"].setstate(kept)
        elif not self._keeps_seeds:
            if "random" in sys.modules:
                sys.modules["random"].seed()
            if "numpy.random" in sys.modules:
                sys.modules["numpy.random"].seed()


def _is_seeded(session):
    """Whether a cell, or a module of the user's, seeds random numbers."""
    if any(_SEEDS.search(cell) for cell in session.history):
        return True
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if type(file) is not str or not file.endswith(".py") or file.startswith((sys.prefix, sys.base_prefix)):
            continue
        if file.startswith(os.path.dirname(__file__)):
            continue
        try:
            with open(file, encoding="utf-8", errors="replace") as text:
                if _SEEDS.search(text.read()):
                    return True
        except OSError:
            pass
    return False
