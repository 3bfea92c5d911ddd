"""The streams sys.stdout, sys.stderr and sys.stdin of the user's code.

Owns the objects that turn writes into frames. Output keeps its order because standard error is never held back
and flushes standard output first. Output stays fast because standard output is one of Python's own buffered
text streams. A few lines go out one by one, so that they survive if the process is killed or holds the
interpreter; in a flood, lines wait in the buffer.
"""

import io
import os
import sys
from _thread import allocate_lock


# The largest frame of output.
_PIECE = 1 << 18


class FrameWriter(io.RawIOBase):
    """The bottom of a stream: sends all bytes that arrive here to the host."""

    def __init__(self, session, name, fd):
        self._session = session
        self._stream = self.name = name
        self._fd = fd
        self._ahead = 0

    def writable(self):
        return True

    def isatty(self):
        return False

    def fileno(self):
        # Children and C code that ask for the descriptor get the real one, which the host reads too.
        return self._fd

    def write(self, data):
        channel = self._session.channel
        if os.getpid() != channel.pid:
            return os.write(self._fd, data)
        # One piece at a time: the host holds a frame until it is complete, and an interrupt waits for the end of
        # a frame.
        data = data[:_PIECE]
        size = len(data)
        if self._ahead:
            # An interrupt hid from the buffer above that these bytes were sent, so the buffer offers them again.
            size = min(size, self._ahead)
            self._ahead -= size
            return size
        channel.sent = None
        try:
            self._session.send_stream(self._stream, data)
        except BaseException:
            if channel.sent == id(data):
                self._ahead = size
            raise
        self._session.streams.count(size)
        return size


class _Bytes(io.BufferedWriter):
    """The buffer between a stream and its bottom. Python asks it before every write whether it is closed.
    Passing the question on to the bottom takes longer than the write, so this class stores the answer."""

    closed = False

    def close(self):
        try:
            super().close()
        finally:
            self.closed = True


# This property also asks the bottom.
_is_closed = io.BufferedWriter.closed.__get__


def _is_broken(stream):
    """Whether user code closed or removed the stream, its buffer or its bottom."""
    try:
        return stream.buffer is None or _is_closed(stream.buffer)
    except ValueError:
        return True


def _give_up(stream):
    """Marks a broken stream as closed: its destructor must not try to write the rest of its buffer."""
    if _is_broken(stream) and stream.buffer is not None:
        stream.buffer.closed = True


class _OrderedText(io.TextIOWrapper):
    """Standard error: writes at once, but only after the content of standard output."""

    _before = None

    def write(self, text):
        if self._before is not None:
            try:
                self._before.flush()
            except (OSError, ValueError):
                pass
        written = super().write(text)
        super().flush()
        return written

    def writelines(self, lines):
        for line in lines:
            self.write(line)


class TypedInput(io.TextIOBase):
    """Standard input: the text that the caller types, if the caller can type."""

    def __init__(self, session):
        self._session = session

    def readable(self):
        return True

    def fileno(self):
        return 0

    def isatty(self):
        return False

    def read(self, size=-1):
        lines = []
        while size is None or size < 0 or sum(map(len, lines)) < size:
            line = self.readline()
            if not line:
                break
            lines.append(line)
        text = "".join(lines)
        if size is not None and 0 <= size < len(text):
            text, self._rest = text[:size], text[size:]
        return text

    # The text that was typed and not yet read.
    _rest = ""

    def readline(self, size=-1):
        line, self._rest = self._rest, ""
        if not line:
            try:
                line = self._session.read_line("", False) + "\n"
            except EOFError:
                return ""
        if size is not None and 0 <= size < len(line):
            line, self._rest = line[:size], line[size:]
        return line

    def __iter__(self):
        return self

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line


def _stream(session, name, fd, kind):
    buffered = _Bytes(FrameWriter(session, name, fd), 1 << 16)
    text = kind(buffered, encoding="UTF-8", errors="backslashreplace", newline="\n", line_buffering=True)
    text.mode = "w"
    return text


# The names of `sys`, which stay reachable whatever happens to `stdout` there.
_state = sys.__dict__

# This many writes, or bytes, in one tick of the flusher are a flood.
_MANY_WRITES = 50
_MANY_BYTES = 1 << 14


class Streams:
    """The three streams, restored before every cell."""

    def __init__(self, session):
        self._session = session
        self._writes = self._bytes = 0
        # Whether the flush at the end of the cell found both streams intact. The result of another thread does
        # not count: the cell keeps running and may close them.
        self.is_sound = False
        self._tick = allocate_lock()
        self._tick.acquire()
        self.stdin = TypedInput(session)
        self._make()

    def _make(self):
        self.stdout = stdout = _stream(self._session, "stdout", 1, io.TextIOWrapper)
        self.stderr = stderr = _stream(self._session, "stderr", 2, _OrderedText)
        stderr._before = stdout
        # The names of the streams in `sys`.
        self._names = {"stdout": stdout, "stderr": stderr, "stdin": self.stdin}
        self._names.update(__stdout__=stdout, __stderr__=stderr, __stdin__=self.stdin)

    def renew(self):
        """Replaces the lock in a copy of the process: the thread that may have held it does not exist here."""
        self._tick = allocate_lock()
        self._tick.acquire()
        self._writes = self._bytes = 0

    def install(self):
        """Puts the streams in place again after any change by the last cell."""
        stdout, stderr = self.stdout, self.stderr
        try:
            is_whole = self.is_sound or not (_is_broken(stdout) or _is_broken(stderr))
            for stream in (stdout, stderr):
                if stream.encoding != "UTF-8" or stream.errors != "backslashreplace":
                    stream.reconfigure(encoding="UTF-8", errors="backslashreplace")
            if not stdout.line_buffering:
                stdout.reconfigure(line_buffering=True)
        except (AttributeError, ValueError):
            # User code closed the stream or removed its buffer.
            is_whole = False
        if not is_whole:
            _give_up(stdout)
            _give_up(stderr)
            self._make()
        _state.update(self._names)
        self.is_sound = False

    def count(self, size):
        """Counts sent output, and wakes the flusher early in a flood."""
        self._writes += 1
        self._bytes += size
        if self._writes == _MANY_WRITES and self._tick.locked():
            try:
                self._tick.release()
            except RuntimeError:
                # Another thread released it first.
                pass

    def wait(self):
        """Waits until it is time to flush."""
        self._tick.acquire(True, 0.05)

    def adapt(self):
        """Starts to hold lines back in a flood, and stops after it."""
        is_flood = self._writes >= _MANY_WRITES or self._bytes >= _MANY_BYTES
        self._writes = self._bytes = 0
        try:
            if self.stdout.line_buffering == is_flood:
                self.stdout.reconfigure(line_buffering=not is_flood)
        except (AttributeError, ValueError):
            # The running cell closed the stream; the next cell gets a new one.
            pass

    def flush(self):
        """Flushes everything, including streams that user code put in place of ours. Returns whether our own
        streams are in place and the flush succeeded."""
        stdout, stderr = self.stdout, self.stderr
        streams = (stdout, stderr)
        if _state.get("stdout") is not stdout or _state.get("stderr") is not stderr:
            streams = (_state.get("stdout"), _state.get("stderr"), stdout, stderr)
        else:
            try:
                stdout.flush()
                stderr.flush()
                return True
            except Exception:
                # One stream failed; the loop below flushes the others.
                pass
        for stream in streams:
            try:
                stream.flush()
            except Exception:
                # A closed, deleted or broken stream has nothing more to write.
                pass
        return False


# Asks Linux whether two descriptors are copies of each other; Linux answers from 6.10 on.
_F_DUPFD_QUERY = 1027


class Descriptors:
    """Descriptors 0, 1 and 2 as the host passed them, restored after a cell closes or moves them."""

    def __init__(self):
        self._kept = {}
        for fd in (0, 1, 2):
            try:
                self._kept[fd] = os.dup(fd)
            except OSError:
                # The descriptor was closed from the start.
                pass
        self._marks = {fd: self._mark(fd) for fd in self._kept}
        self._query = self._find_query()
        self._pairs = tuple(self._kept.items())

    def _find_query(self):
        """The function that asks the system about copies, or None; faster than comparing the open files."""
        if sys.platform != "linux":
            return None
        try:
            from fcntl import fcntl

            copies = [fcntl(fd, _F_DUPFD_QUERY, kept) for fd, kept in self._kept.items()]
            return fcntl if copies == [1] * len(copies) else None
        except (ImportError, OSError):
            return None

    @staticmethod
    def _mark(fd):
        try:
            found = os.fstat(fd)
        except OSError:
            return None
        # The inode and the device.
        return found[1:3]

    def restore(self):
        query = self._query
        if query is not None:
            try:
                for fd, kept in self._pairs:
                    if query(fd, _F_DUPFD_QUERY, kept) != 1:
                        break
                else:
                    return
            except OSError:
                pass
        for fd, kept in self._pairs:
            # The cell may have closed the copy instead, and another file may have its number now.
            mark = self._marks[fd]
            if self._mark(fd) != mark and self._mark(kept) == mark:
                os.dup2(kept, fd, inheritable=True)

    def numbers(self):
        """The copies from which the streams are restored."""
        return self._kept.values()

    def close(self):
        """Closes the copies from which the streams are restored."""
        for kept in self._kept.values():
            os.close(kept)
