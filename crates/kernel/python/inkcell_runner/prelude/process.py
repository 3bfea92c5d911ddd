"""One child process: live output, limits, interrupt and time limit.

Owns the child's process group and its two pipes. Must not know which shell runs or what is reported. POSIX
only, like the runner.
"""

import codecs
import os
import selectors
import signal
import subprocess
import threading
import time

MAX_BYTES = 1 << 20
MAX_LINES = 3000
# Seconds that a child has to end after the request to end, before it is killed.
GRACE = 2.0
# Seconds between checks whether the child has ended while another process, such as one that it left in the
# background, still holds its pipes.
TICK = 0.05

# The process groups of running children. They are not in the runner's own group, so code that ends the runner's
# group must end these as well.
GROUPS = set()


class Capture:
    """One stream of the child: decoded, shown if requested, kept up to the limit."""

    def __init__(self, name, full, show):
        self.name = name
        self.cut = None
        self._full = full
        self._show = show
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._parts = []
        self._bytes = 0
        self._lines = 0

    def feed(self, chunk, final=False):
        if not self._full:
            chunk = self._within_limits(chunk)
        text = self._decode(chunk, final)
        if text:
            self._parts.append(text)
            if self._show is not None:
                self._show(text)

    def _within_limits(self, chunk):
        # Text past a limit is dropped but still read, so that the child does not block on a full pipe.
        if self.cut is not None or not chunk:
            return b""
        room = MAX_BYTES - self._bytes
        if len(chunk) > room:
            chunk, self.cut = chunk[:room], "%d bytes" % MAX_BYTES
        lines = chunk.count(b"\n")
        if self._lines + lines > MAX_LINES or (
            self._lines + lines == MAX_LINES and not chunk.endswith(b"\n")
        ):
            pieces = chunk.split(b"\n", MAX_LINES - self._lines)
            chunk = chunk[: len(chunk) - len(pieces[-1])]
            self.cut = "%d lines" % MAX_LINES
        self._bytes += len(chunk)
        self._lines += lines
        return chunk

    def text(self):
        return "".join(self._parts)


class Child:
    """A child in its own session and process group, with nothing on its stdin."""

    def __init__(self, args, cwd, out, err):
        self.timed_out = False
        self._process = subprocess.Popen(
            args,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        GROUPS.add(self._process.pid)
        self._guard = _guard(self._process.pid)
        self._pipes = {self._process.stdout: out, self._process.stderr: err}
        self._selector = selectors.DefaultSelector()
        for pipe in self._pipes:
            self._selector.register(pipe, selectors.EVENT_READ)

    def finish(self, timeout=None):
        """Pump output until the child ends; return its code.

        A KeyboardInterrupt goes on to the child and, after the child has ended, to the caller: the rest of the
        cell must not run.
        """
        try:
            self._pump(timeout)
            if self._alive():
                self.timed_out = True
                self._stop(signal.SIGTERM)
        except KeyboardInterrupt:
            self._stop(signal.SIGINT)
            raise
        except BaseException:
            # The output could not be shown; a child without a reader must not stay.
            self._signal(signal.SIGKILL)
            raise
        finally:
            self._close()
        return self._process.returncode

    def _alive(self):
        return self._process.poll() is None

    def _pump(self, seconds):
        """Read until both pipes are closed and the child has ended, or time is up."""
        end = None if seconds is None else time.monotonic() + seconds
        enough = None
        while self._selector.get_map():
            wait = TICK if end is None else min(TICK, max(0.0, end - time.monotonic()))
            ended = not self._alive()
            busy = self._read(wait)
            now = time.monotonic()
            if ended:
                # All output of the child was in the pipe when it ended. After that, a quiet round, or far more
                # than a pipe holds, means that another process writes.
                enough = enough or now + 5 * TICK
                if not busy or now >= enough:
                    return
            if end is not None and now >= end:
                return
        while self._alive():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            try:
                self._process.wait(left)
            except subprocess.TimeoutExpired:
                return

    def _read(self, wait):
        ready = self._selector.select(wait)
        for key, _ in ready:
            chunk = os.read(key.fd, 1 << 16)
            if not chunk:
                self._selector.unregister(key.fileobj)
            self._pipes[key.fileobj].feed(chunk, final=not chunk)
        return bool(ready)

    def _stop(self, first):
        """Ask the group to end, give it two seconds, then kill it."""
        self._signal(first)
        try:
            self._pump(GRACE)
        except KeyboardInterrupt:
            # A second interrupt skips the wait.
            pass
        if self._alive():
            self._signal(signal.SIGKILL)
            self._process.wait()
        self._pump(TICK)

    def _signal(self, number):
        # Until the leader is reaped, its id cannot belong to another group.
        if self._alive():
            try:
                os.killpg(self._process.pid, number)
            except (ProcessLookupError, PermissionError):
                pass

    def _close(self):
        if not self._alive():
            GROUPS.discard(self._process.pid)
            if self._guard is not None:
                os.close(self._guard)
                self._guard = None
        left = [key.fileobj for key in list(self._selector.get_map().values())]
        self._selector.close()
        for pipe, capture in self._pipes.items():
            if pipe in left:
                capture.feed(b"", final=True)
                # A background process still writes here. Closing the pipe would kill it with SIGPIPE at its next
                # line, so a thread reads it to the end.
                threading.Thread(target=_drain, args=(pipe,), daemon=True).start()
            else:
                pipe.close()


def _guard(group):
    """Ties a group to the host's life, as the runner's own group is; returns the tying descriptor, or None."""
    from .. import current
    from ..__main__ import bind

    try:
        lifeline = current().lifeline
        if lifeline is None:
            # A Jupyter kernel on a gateway has no host beside it.
            return None
        # Opened again, because the system notifies only one owner per opening.
        tie = os.open("/proc/self/fd/%d" % lifeline, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (AttributeError, OSError, RuntimeError):
        # There is no runner, or the system is not Linux.
        return None
    bind(tie, group)
    return tie


def _drain(pipe):
    with pipe:
        while pipe.read(1 << 16):
            pass
