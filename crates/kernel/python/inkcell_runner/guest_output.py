"""Output of a kernel that is ipykernel's: made to be whole when a cell ends, and of bounded size on its way.

Owns the changes to ipykernel's streams. Each is left out where they are not what they were when this was
written; then the kernel does as it always did.
"""

import codecs
import functools
import os
import select
import signal
import sys
import threading
import time

# How many characters a stream may hold back before the cell waits for it.
HELD_BACK = 1 << 22


def keep(shell):
    """A kernel drops messages when a thousand wait to be sent. Here many more may wait."""
    try:
        import zmq

        thread = shell.kernel.iopub_thread
        # Only the thread that owns a socket may touch it.
        thread.schedule(lambda: thread.socket.setsockopt(zmq.SNDHWM, 100_000))
    except Exception:
        pass


def bound_wakes(shell, milliseconds=5000):
    """Limits how long ipykernel's control thread waits for the output thread at shutdown.

    The output thread may have ended between the control thread's look at it and the wait, which would be endless.
    """
    try:
        import zmq

        kernel = shell.kernel
        output = kernel.iopub_thread
        # Each thread has a socket of its own for this.
        kernel.control_thread.io_loop.add_callback(
            lambda: output._event_pipe.setsockopt(zmq.SNDTIMEO, milliseconds)
        )
    except Exception:
        pass


def _has(stream, *names):
    return all(hasattr(stream, name) for name in names)


def pace(stream):
    """ipykernel sends what was printed five times a second and lets a cell print as much as it can meanwhile, in
    one message without bounds. Here a cell that has printed much waits until it is sent.

    Gives what must be called between requests.
    """
    if not _has(stream, "pub_thread", "_is_master_process", "_flush", "_flush_pending", "echo"):
        return None
    kind, held, is_unsent = type(stream), 0, True
    plain = kind.write

    class Paced(kind):
        watch = None

        def flush(self):
            # ipykernel flushes before it shows something; what programs wrote before that comes before it.
            if self.watch is not None:
                self.watch.take()
            # Each flush waits for the thread of output, and before every display both streams are flushed. What is
            # sent goes through that thread in order, so where nothing was written there is nothing to wait for.
            nonlocal is_unsent
            if is_unsent or self._flush_pending or self.echo is not None or not self._is_master_process():
                is_unsent = False
                kind.flush(self)

        def write(self, text):
            nonlocal held, is_unsent
            if isinstance(text, str) and len(text) > HELD_BACK:
                for at in range(0, len(text), HELD_BACK):
                    Paced.write(self, text[at : at + HELD_BACK])
                return len(text)
            written = plain(self, text)
            is_unsent = True
            held += len(text)
            if held >= HELD_BACK:
                held = 0
                _send_now(self)
            return written

    Paced.__name__, Paced.__qualname__, Paced.__module__ = kind.__name__, kind.__qualname__, kind.__module__
    stream.__class__ = Paced

    def settle():
        # While code runs, IPython has a method of its own in the place of the stream's, and puts back what it
        # found before; once that is what was there before us.
        if getattr(stream.__dict__.get("write"), "__func__", None) is plain:
            del stream.write

    return settle


def _send_now(stream):
    """What `flush` does, but the moment that was set for the next sending stays the only one."""
    thread = stream.pub_thread
    is_other = thread and thread.thread.is_alive() and thread.thread is not threading.current_thread()
    if not is_other or not stream._is_master_process():
        return

    def send():
        is_pending = stream._flush_pending
        stream._flush()
        stream._flush_pending = is_pending

    thread.schedule(send)
    sent = threading.Event()
    thread.schedule(sent.set)
    # One that cannot be sent in this time waits in memory, as it does without us.
    sent.wait(10)


class Watch:
    """Reads what programs and C code write to a descriptor, in the place of ipykernel's thread, which may be
    behind when the cell ends and cuts characters in two. Here the end of a cell takes what is still there."""

    def __init__(self, stream):
        self.stream = stream
        self.source = stream._fid
        self.echo = stream._original_stdstream_copy
        # What is freed while this is held may print, and so come here again.
        self.lock = threading.RLock()
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.peek = _peek()

    @classmethod
    def over(cls, stream):
        """Takes the place of ipykernel's thread, if there is one."""
        names = ("_fid", "_should_watch", "watch_fd_thread", "_original_stdstream_fd", "_original_stdstream_copy")
        if not _has(stream, *names) or not stream._should_watch:
            return None
        # It ends at the next that it reads, which it does not show.
        stream._should_watch = False
        os.write(stream._original_stdstream_fd, b"\0")
        stream.watch_fd_thread.join(10)
        if stream.watch_fd_thread.is_alive():
            return None
        watch = cls(stream)
        stream._should_watch = True
        stream.watch_fd_thread = threading.Thread(target=watch.run, daemon=True)
        stream.watch_fd_thread.start()
        stream.watch = watch
        return watch

    def run(self):
        while self.stream._should_watch and self._is_filled(None) and self.take():
            pass

    def _is_filled(self, wait):
        if wait == 0 and self.peek is not None:
            return self.peek(self.source) != 0
        poll = select.poll()
        poll.register(self.source, select.POLLIN)
        return any(events & select.POLLIN for _, events in poll.poll(wait))

    def take(self):
        """Passes on what is there now; says whether more can come. A program that writes without end holds nobody
        up: what a pipe can hold is taken, and no more."""
        try:
            if not self.stream._is_master_process():
                return False
            with self.lock:
                for _ in range(16):
                    if not self.stream._should_watch or self.stream.closed:
                        return False
                    if not self._is_filled(0):
                        return True
                    data = os.read(self.source, 1 << 16)
                    if not data:
                        return False
                    self.stream.write(self.decoder.decode(data))
                    os.write(self.echo, data)
            return True
        except (OSError, ValueError):
            # A cell closed the descriptor or the stream.
            return False


def see_off(session):
    """A process that ends itself at once, or by a signal, loses what its streams hold, and what ZeroMQ's thread has
    not handed to the system yet. Here that is sent first."""
    master = os.getpid()

    def send_all():
        session.flush()
        _pass_output_thread(session.streams.get("stdout"))
        _hand_over()

    def sending_first(end):
        def ending(*arguments, **named):
            # A child has nothing of its own to send.
            if os.getpid() == master:
                send_all()
            end(*arguments, **named)

        return functools.wraps(end)(ending)

    def before_signals(event, arguments):
        # A function in the place of `os.kill` would stand in the traceback of every one that fails.
        if event not in ("os.kill", "os.killpg") or os.getpid() != master:
            return
        target, number = arguments
        group = os.getpgrp()
        own = (0, group) if event == "os.killpg" else (0, -1, master, -group)
        if target in own and _is_fatal(number):
            send_all()

    os._exit, os.abort = sending_first(os._exit), sending_first(os.abort)
    sys.addaudithook(before_signals)


def _is_fatal(number):
    """Whether a signal ends this process: it does by default, and no handler is set for it."""
    harmless = (0, signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGCONT, signal.SIGSTOP, signal.SIGTSTP)
    if number in harmless:
        return False
    try:
        return number == signal.SIGKILL or signal.getsignal(number) == signal.SIG_DFL
    except ValueError:
        # It is not a signal; sending it says so.
        return False


def _peek():
    """Makes a function that says how many bytes wait at a descriptor. Every other way to ask lets go of the
    interpreter, and then waits for its turn behind the thread of output: at twenty thousand displays that is most of
    the time."""
    try:
        import ctypes
        import termios

        ioctl = ctypes.PyDLL(None).ioctl
        ioctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)
        count = ctypes.c_int()
        where = ctypes.addressof(count)

        def peek(descriptor):
            # If it cannot be asked, read it: that says what is wrong.
            if ioctl(descriptor, termios.FIONREAD, where) != 0:
                return 1
            return count.value

        return peek
    except Exception:
        return None


def _pass_output_thread(stream):
    """Waits until ipykernel's thread of output has had its turn: another thread may have flushed a moment ago."""
    thread = getattr(stream, "pub_thread", None)
    if thread is not None:
        passed = threading.Event()
        thread.schedule(passed.set)
        passed.wait(2)


def _hand_over():
    """Waits until ZeroMQ's threads rest, which they do when all is sent, or cannot be."""
    for _ in range(400):
        states = _states_of_senders()
        if states and set(states) == {"S"}:
            return
        time.sleep(0.005 if states else 0.1)
        if not states:
            # They cannot be seen here.
            return


def _states_of_senders():
    states = []
    try:
        for thread in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/stat" % thread) as stat:
                name, _, rest = stat.read().partition("(")[2].rpartition(")")
            if name.startswith("ZMQbg"):
                states.append(rest.split()[0])
    except OSError:
        # A thread that has just ended.
        pass
    return states
