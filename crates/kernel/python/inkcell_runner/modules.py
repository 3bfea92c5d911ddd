"""Extension modules: running the user's and the project's own files at start (E-51).

Owns executing them, silently and in the order given, in the user's namespace.
Must not know where they are found: the host decides which files there are.
"""

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
    for _name, path in files:
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
