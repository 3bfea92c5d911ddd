"""Makes ipykernel's output complete when a cell ends, and limits its size on the way.

Owns the changes to ipykernel's streams. A change is left out if the streams differ from those of the ipykernel that it
was written for. The kernel then behaves as it does without inkcell.
"""

import codecs
import functools
import os
import select
import signal
import sys
import threading
import time

# The number of characters a stream may hold back before the cell waits for it.
HELD_BACK = 1 << 22


def keep(shell):
    """Raises the number of messages that may wait. A kernel drops messages when a thousand wait to be sent."""
    try:
        import zmq

        thread = shell.kernel.iopub_thread
        # Only the thread that owns a socket may touch it.
        thread.schedule(lambda: thread.socket.setsockopt(zmq.SNDHWM, 100_000))
    except Exception:
        pass


def bound_wakes(shell, milliseconds=5000):
    """Limits how long ipykernel's control thread waits for the output thread at shutdown.

    The output thread may end after the control thread checked that it runs. The wait would then never end.
    """
    try:
        import zmq

        kernel = shell.kernel
        output = kernel.iopub_thread
        # Each thread has its own socket for this.
        kernel.control_thread.io_loop.add_callback(
            lambda: output._event_pipe.setsockopt(zmq.SNDTIMEO, milliseconds)
        )
    except Exception:
        pass


def _has(stream, *names):
    return all(hasattr(stream, name) for name in names)


def pace(stream):
    """Makes a cell that has printed much wait until its text is sent.

    ipykernel sends printed text five times a second. Meanwhile a cell can print without limit, all into one message.
    Returns a function to call between requests.
    """
    if not _has(stream, "pub_thread", "_is_master_process", "_flush", "_flush_pending", "echo"):
        return None
    kind, held, is_unsent = type(stream), 0, True
    plain = kind.write

    class Paced(kind):
        watch = None

        def flush(self):
            # ipykernel flushes before it shows something. Text that programs wrote before that comes before it.
            if self.watch is not None:
                self.watch.take()
            # Each flush waits for the output thread, and both streams are flushed before every display. That thread
            # sends everything in order, so a flush need not wait if nothing was written.
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
        # While code runs, IPython replaces the stream's `write` by its own method. Afterwards it restores the method
        # that it found. Once, that is the method from before the stream was paced.
        if getattr(stream.__dict__.get("write"), "__func__", None) is plain:
            del stream.write

    return settle


def _send_now(stream):
    """Does what `flush` does, but leaves the scheduled time of the next sending unchanged."""
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
    # Text that cannot be sent in this time waits in memory, as it does without this wait.
    sent.wait(10)


class Watch:
    """Reads the text that programs and C code write to a descriptor. It replaces ipykernel's thread, which may be
    behind when the cell ends, and which cuts characters in two. The end of a cell takes all text still there."""

    def __init__(self, stream):
        self.stream = stream
        self.source = stream._fid
        self.echo = stream._original_stdstream_copy
        # An object freed while this lock is held may print, which takes the lock again.
        self.lock = threading.RLock()
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.peek = _peek()

    @classmethod
    def over(cls, stream):
        """Replaces ipykernel's thread, if there is one."""
        names = ("_fid", "_should_watch", "watch_fd_thread", "_original_stdstream_fd", "_original_stdstream_copy")
        if not _has(stream, *names) or not stream._should_watch:
            return None
        # The thread ends at its next read, and does not show the byte.
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
        """Passes on the text that is there now, and returns whether more can come. It takes no more than a pipe can
        hold, so a program that writes without end delays nothing."""
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
    """Sends all output before the process ends. A process that ends itself at once, or by a signal, loses the text in
    its streams, and the messages that ZeroMQ's thread has not handed to the system yet."""
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
        # A replacement of `os.kill` would show up in the traceback of every call that fails.
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
    """Whether a signal ends this process: it does by default, and it has no handler."""
    harmless = (0, signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGCONT, signal.SIGSTOP, signal.SIGTSTP)
    if number in harmless:
        return False
    try:
        return number == signal.SIGKILL or signal.getsignal(number) == signal.SIG_DFL
    except ValueError:
        # The number is not a signal; sending it will report that.
        return False


def _peek():
    """Makes a function that returns the number of bytes that wait at a descriptor. Every other way to find out
    releases the interpreter lock, and then waits for its turn behind the output thread. At twenty thousand displays
    that is most of the time."""
    try:
        import ctypes
        import termios

        ioctl = ctypes.PyDLL(None).ioctl
        ioctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)
        count = ctypes.c_int()
        where = ctypes.addressof(count)

        def peek(descriptor):
            # If the call fails, claim that there is data: the read will report what is wrong.
            if ioctl(descriptor, termios.FIONREAD, where) != 0:
                return 1
            return count.value

        return peek
    except Exception:
        return None


def _pass_output_thread(stream):
    """Waits until ipykernel's output thread has had its turn: another thread may have flushed a moment ago."""
    thread = getattr(stream, "pub_thread", None)
    if thread is not None:
        passed = threading.Event()
        thread.schedule(passed.set)
        passed.wait(2)


def _hand_over():
    """Waits until ZeroMQ's threads sleep. They sleep when everything is sent, or cannot be sent."""
    for _ in range(400):
        states = _states_of_senders()
        if states and set(states) == {"S"}:
            return
        time.sleep(0.005 if states else 0.1)
        if not states:
            # This system does not list its threads.
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
        # A thread ended a moment ago.
        pass
    return states
