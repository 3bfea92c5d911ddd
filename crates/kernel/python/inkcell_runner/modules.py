"""Extension modules: running the user's and the project's own files at start (E-51).

Owns executing them, silently and in the order given, in the user's namespace.
Must not know where they are found: the host decides which files there are.
"""

import os
import stat
import sys


class ModuleLoadError(Exception):
    """An extension module could not be read or failed; the kernel must not start."""


class _Silence:
    """A text stream that keeps nothing."""

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
    """Execute each (name, path) in the session's namespace; the first failure ends it."""
    mark = _Mark()
    for _name, path in files:
        mark.put(path)
        source = _read(path)
        kept = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = _Silence()
        try:
            code = compile(source, str(path), "exec", dont_inherit=True)
            # What a module displays is collected and forgotten.
            with session.capture():
                exec(code, session.namespace)
        except (Exception, SystemExit) as error:
            text = "Failed to load Python module %s: %s: %s"
            raise ModuleLoadError(text % (path, type(error).__name__, _text(error))) from error
        finally:
            sys.stdout, sys.stderr = kept
            mark.take_back()


class _Mark:
    """Names the module that is being loaded, for a host that waits in vain: one that ends the process or
    never ends itself cannot be reported by it. The name stands in the pipe of standard error, which the
    host reads only if the start fails, and is taken back when it does not. Where that cannot be, there is
    none."""

    def __init__(self):
        try:
            is_pipe = stat.S_ISFIFO(os.fstat(2).st_mode)
            # Only Linux opens the other end of a pipe by the name of this one.
            self._read = os.open("/proc/self/fd/2", os.O_RDONLY | os.O_NONBLOCK) if is_pipe else None
        except OSError:
            self._read = None

    def put(self, path):
        if self._read is not None:
            os.write(2, ("loading Python module %s\n" % path).encode("utf-8", "backslashreplace"))

    def take_back(self):
        """With whatever else the module wrote there past its streams: modules are silent."""
        try:
            while self._read is not None and os.read(self._read, 1 << 16):
                pass
        except OSError:
            # It is empty.
            pass

    def __del__(self):
        if self._read is not None:
            os.close(self._read)


def _read(path):
    # Bytes, so that the compiler honours a coding line.
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
