"""Extension modules: running the files of the user and the project at start (E-51).

Owns executing them, silently and in the given order, in the user's namespace. Must not know where they are
found: the host decides which files to run.
"""

import os
import stat
import sys


class ModuleLoadError(Exception):
    """An extension module could not be read or raised an exception; the kernel must not start."""


class _Silence:
    """A text stream that discards everything."""

    encoding = "utf-8"
    errors = "replace"
    closed = False

    def write(self, text):
        return len(text)

    def writelines(self, lines):
        for _ in lines:
            pass

    def flush(self):
        pass

    def isatty(self):
        return False


def load(session, files):
    """Execute each (name, path) in the session's namespace; stop at the first failure."""
    mark = _Mark()
    for _name, path in files:
        mark.put(path)
        source = _read(path)
        kept = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = _Silence()
        try:
            code = compile(source, str(path), "exec", dont_inherit=True)
            # The capture collects displays of a module and discards them.
            with session.capture():
                exec(code, session.namespace)
        except (Exception, SystemExit) as error:
            text = "Failed to load Python module %s: %s: %s"
            raise ModuleLoadError(text % (path, type(error).__name__, _text(error))) from error
        finally:
            sys.stdout, sys.stderr = kept
            mark.take_back()


class _Mark:
    """Tells a waiting host which module is loading. A module that ends the process, or that never returns,
    cannot be reported in any other way. The mark writes the name into the pipe of standard error, which the
    host reads only if the start fails, and removes it after a successful load. If standard error is not such a
    pipe, there is no mark."""

    def __init__(self):
        try:
            is_pipe = stat.S_ISFIFO(os.fstat(2).st_mode)
            # Only Linux can open the other end of a pipe through the path of this end.
            self._read = os.open("/proc/self/fd/2", os.O_RDONLY | os.O_NONBLOCK) if is_pipe else None
        except OSError:
            self._read = None

    def put(self, path):
        if self._read is not None:
            os.write(2, ("loading Python module %s\n" % path).encode("utf-8", "backslashreplace"))

    def take_back(self):
        """Drops the name and all else that the module wrote to the descriptor directly: modules are silent."""
        try:
            while self._read is not None and os.read(self._read, 1 << 16):
                pass
        except OSError:
            # The pipe is empty.
            pass

    def __del__(self):
        if self._read is not None:
            os.close(self._read)


def _read(path):
    # Bytes, because the compiler then honours a coding line.
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModuleLoadError("Failed to read Python module %s: %s" % (path, reason)) from error


def _text(error):
    try:
        return str(error)
    except Exception:
        return "<unprintable>"
