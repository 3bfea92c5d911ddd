"""sys.stdout, sys.stderr and sys.stdin of the user's code.

Owns the objects that turn writes into frames. Output keeps its order because standard error is never
held back and pushes standard output out first; it keeps its speed because standard output is one of
Python's own buffered text streams. A few lines go out one by one, so that they are not lost with a
process that is killed or that holds the interpreter; many are held back until there are more.
"""

import io
import os
import sys
from _thread import allocate_lock


# The largest frame of output.
_PIECE = 1 << 18


class FrameWriter(io.RawIOBase):
    """The bottom of a stream: what arrives here goes to the host."""

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
        # A piece at a time: the host holds a frame until it is whole, and an interrupt waits for its end.
        data = data[:_PIECE]
        size = len(data)
        if self._ahead:
            # An interrupt hid from the buffer above us that this was sent, so it offers it again.
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
    """What stands between a stream and its bottom. Python asks it before every write whether it is closed,
    and it would have to ask the bottom, which is slower than the write; so it knows by itself."""

    closed = False

    def close(self):
        try:
            super().close()
        finally:
            self.closed = True


# Asks the bottom too.
_is_closed = io.BufferedWriter.closed.__get__


def _is_broken(stream):
    """Whether user code closed or took away the stream, its buffer or its bottom."""
    try:
        return stream.buffer is None or _is_closed(stream.buffer)
    except ValueError:
        return True


def _give_up(stream):
    """Lets a broken stream be: its end must not try to write what it still holds."""
    if _is_broken(stream) and stream.buffer is not None:
        stream.buffer.closed = True


class _OrderedText(io.TextIOWrapper):
    """Standard error: goes out at once, and only after what standard output holds."""

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
    """Standard input: what whoever runs the cell types, where somebody can."""

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

    # What was typed and not read yet.
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


# The names of `sys`, whatever became of `stdout` in it.
_state = sys.__dict__

# So many writes, or bytes, in one tick of the flusher are a flood.
_MANY_WRITES = 50
_MANY_BYTES = 1 << 14


class Streams:
    """The three streams, made whole again before every cell."""

    def __init__(self, session):
        self._session = session
        self._writes = self._bytes = 0
        # Whether the flush at the end of the cell found both whole. What another thread finds does not count: the cell
        # goes on meanwhile and may close them.
        self.is_sound = False
        self._tick = allocate_lock()
        self._tick.acquire()
        self.stdin = TypedInput(session)
        self._make()

    def _make(self):
        self.stdout = stdout = _stream(self._session, "stdout", 1, io.TextIOWrapper)
        self.stderr = stderr = _stream(self._session, "stderr", 2, _OrderedText)
        stderr._before = stdout
        # The names by which `sys` knows them.
        self._names = {"stdout": stdout, "stderr": stderr, "stdin": self.stdin}
        self._names.update(__stdout__=stdout, __stderr__=stderr, __stdin__=self.stdin)

    def renew(self):
        """In a copy of the process: what another thread may have held there is nobody's here."""
        self._tick = allocate_lock()
        self._tick.acquire()
        self._writes = self._bytes = 0

    def install(self):
        """Puts the streams in place, whatever the last cell did to them."""
        stdout, stderr = self.stdout, self.stderr
        try:
            is_whole = self.is_sound or not (_is_broken(stdout) or _is_broken(stderr))
            for stream in (stdout, stderr):
                if stream.encoding != "UTF-8" or stream.errors != "backslashreplace":
                    stream.reconfigure(encoding="UTF-8", errors="backslashreplace")
            if not stdout.line_buffering:
                stdout.reconfigure(line_buffering=True)
        except (AttributeError, ValueError):
            # Closed, or its buffer was taken away.
            is_whole = False
        if not is_whole:
            _give_up(stdout)
            _give_up(stderr)
            self._make()
        _state.update(self._names)
        self.is_sound = False

    def count(self, size):
        """Something was sent; the flusher is woken early when it is a flood."""
        self._writes += 1
        self._bytes += size
        if self._writes == _MANY_WRITES and self._tick.locked():
            try:
                self._tick.release()
            except RuntimeError:
                # Another thread was quicker.
                pass

    def wait(self):
        """Until it is time to flush."""
        self._tick.acquire(True, 0.05)

    def adapt(self):
        """Holds lines back in a flood, and no longer when it is over."""
        is_flood = self._writes >= _MANY_WRITES or self._bytes >= _MANY_BYTES
        self._writes = self._bytes = 0
        try:
            if self.stdout.line_buffering == is_flood:
                self.stdout.reconfigure(line_buffering=not is_flood)
        except (AttributeError, ValueError):
            # The running cell closed it; the next one gets another.
            pass

    def flush(self):
        """Pushes everything out; what user code put in our place is asked too. Returns whether our own streams are in
        place and took it."""
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
                # One of them is seen to below.
                pass
        for stream in streams:
            try:
                stream.flush()
            except Exception:
                # A closed, deleted or broken stream has nothing more to give.
                pass
        return False


# Asks Linux whether two descriptors are copies of each other; from 6.10 on it knows.
_F_DUPFD_QUERY = 1027


class Descriptors:
    """Descriptors 0, 1 and 2 as the host gave them, to be put back when a cell closed or moved them."""

    def __init__(self):
        self._kept = {}
        for fd in (0, 1, 2):
            try:
                self._kept[fd] = os.dup(fd)
            except OSError:
                # It was closed from the start.
                pass
        self._marks = {fd: self._mark(fd) for fd in self._kept}
        self._query = self._find_query()
        self._pairs = tuple(self._kept.items())

    def _find_query(self):
        """How the system is asked, where it can be: much quicker than looking at what is open there."""
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
        # Its inode and its device.
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
            # It may be the copy that was closed, and its number be somebody else's by now.
            mark = self._marks[fd]
            if self._mark(fd) != mark and self._mark(kept) == mark:
                os.dup2(kept, fd, inheritable=True)

    def numbers(self):
        """The copies that put a stream back."""
        return self._kept.values()

    def close(self):
        """Lets go of the copies that put a stream back."""
        for kept in self._kept.values():
            os.close(kept)
