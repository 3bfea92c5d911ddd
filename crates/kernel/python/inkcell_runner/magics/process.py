"""Other programs: `!cmd`, `x = !cmd`, `%%bash` and `%%script`.

Owns how a child starts and where its output goes. A child never gets an open standard input, because the user
cannot type into it. It stays in the kernel's process group, so an interrupt from the host reaches it.
"""

import os
import subprocess
import sys

from ..shell import UsageError
from .options import words

MAX_BYTES = 1024 * 1024
MAX_LINES = 3000

# One argument of a program cannot be longer than 128 KiB.
_MAX_ARGUMENT = 100_000


def _shell_path():
    return "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"


class SList(list):
    """Lines of output, also as one text (`.n`, `.s`) and as paths (`.p`)."""

    returncode = None
    truncated = False

    @property
    def l(self):  # noqa: E743
        return self

    list = l

    @property
    def n(self):
        return "\n".join(self)

    nlstr = n

    @property
    def s(self):
        return " ".join(self)

    spstr = s

    @property
    def p(self):
        from pathlib import Path

        return [Path(line) for line in self if os.path.exists(line)]

    paths = p

    def grep(self, pattern, prune=False, field=None):
        """The lines that match a regular expression or a function."""
        import re

        if isinstance(pattern, str):
            expression = re.compile(pattern, re.IGNORECASE)
            matches = expression.search
        else:
            matches = pattern

        def text(line):
            if field is None:
                return line
            parts = line.split()
            return parts[field] if -len(parts) <= field < len(parts) else ""

        return SList(line for line in self if bool(matches(text(line))) != prune)

    def fields(self, *numbers):
        """Columns of the lines, split at blanks."""
        rows = [line.split() for line in self]
        if not numbers:
            return rows
        chosen = SList()
        for row in rows:
            parts = [row[n] for n in numbers if -len(row) <= n < len(row)]
            if parts:
                chosen.append(" ".join(parts))
        return chosen

    def sort(self, field=None, nums=False):
        """A sorted copy, by a column if `field` is given."""

        def key(line):
            text = line
            if field is not None:
                parts = line.split()
                text = parts[field] if field < len(parts) else ""
            if nums:
                digits = "".join(char for char in text if char.isdigit())
                return int(digits or 0)
            return text

        return SList(sorted(self, key=key))


def system(session, command):
    """Runs a shell command and shows its output at once; returns the exit code."""
    return run(session, [_shell_path(), "-c", _no_option(command)])


def _no_option(command):
    # A shell takes text that begins like an option for one, even after -c.
    return " " + command if command[:1] in ("-", "+") else command


def _reaches_host():
    """Whether descriptors 1 and 2 of a child lead to the same place as Python's output."""
    try:
        return sys.stdout.fileno() == 1 and sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError):
        return False


def run(session, argv, body=None):
    """Runs a program to its end. Negative codes are signals, including signals that a shell reports."""
    session.flush()
    direct = not getattr(session, "capturing", None) and _reaches_host()
    if direct and body is None:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
        code = _wait(process, process.wait)
    elif direct:
        process = subprocess.Popen(argv, stdin=subprocess.PIPE)
        code = _wait(process, lambda: process.communicate(body) and None)
    else:
        # A capture collects the output, so it must pass through Python.
        code, _, _ = _pumped(argv, body, sys.stdout.write, sys.stderr.write)
    return -(code - 128) if code > 128 else code


def _wait(process, finish):
    """Waits; an interrupt ends the child before it propagates."""
    try:
        finish()
    except BaseException:
        _end(process)
        raise
    return process.returncode


def _end(process):
    """The interrupt reached the whole group: give the child a moment, then end it."""
    for stop in (None, process.terminate, process.kill):
        try:
            if stop is not None:
                stop()
            process.wait(timeout=0.5)
            return
        except (subprocess.TimeoutExpired, ProcessLookupError, KeyboardInterrupt):
            continue


def _pumped(argv, body, out, err):
    """Runs a program and passes its text to `out` and `err` while it arrives.

    Either may be None; then its text is collected and returned.
    """
    import codecs
    import selectors
    import threading

    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL if body is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if body is not None:
        # A thread writes the input, because the child may write much output before it reads.
        threading.Thread(target=_feed, args=(process.stdin, body), daemon=True).start()
    kept = {"out": [], "err": []}
    decoder = codecs.getincrementaldecoder("utf-8")
    sinks = {
        process.stdout: (out or kept["out"].append, decoder("replace")),
        process.stderr: (err or kept["err"].append, decoder("replace")),
    }
    try:
        with selectors.DefaultSelector() as ready:
            for pipe in sinks:
                ready.register(pipe, selectors.EVENT_READ)
            while ready.get_map():
                for key, _ in ready.select():
                    sink, decode = sinks[key.fileobj]
                    data = os.read(key.fd, 65536)
                    sink(decode.decode(data, final=not data))
                    if not data:
                        ready.unregister(key.fileobj)
        process.wait()
    except BaseException:
        _end(process)
        raise
    finally:
        process.stdout.close()
        process.stderr.close()
    return process.returncode, "".join(kept["out"]), "".join(kept["err"])


def _feed(pipe, body):
    try:
        pipe.write(body)
        pipe.close()
    except OSError:
        # The program ended without reading all input.
        pass


def getoutput(command):
    """The lines that a command writes to both outputs, within limits."""
    process = subprocess.Popen(
        [_shell_path(), "-c", _no_option(command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    kept = bytearray()
    lines = total = 0
    try:
        while True:
            data = os.read(process.stdout.fileno(), 65536)
            if not data:
                break
            total += len(data)
            lines += data.count(b"\n")
            # Keep reading past the limit, so that the command can finish.
            if len(kept) < MAX_BYTES:
                kept += data[: MAX_BYTES - len(kept)]
        process.wait()
    except BaseException:
        _end(process)
        raise
    finally:
        process.stdout.close()
    result = SList(kept.decode("utf-8", "replace").splitlines()[:MAX_LINES])
    result.returncode = process.returncode
    if total > len(kept) or lines > MAX_LINES:
        result.truncated = True
        print(
            "[output cut: kept %d of %d lines, the first %d of %d bytes read]"
            % (len(result), max(lines, len(result)), len(kept), total),
            file=sys.stderr,
        )
    return result


def sx(shell, line, cell=None):
    """Run a shell command and give its output as a list of lines."""
    return shell.getoutput(line if cell is None else line + "\n" + cell)


def _script_options(line):
    """The options of `%%script` before the program, unchanged, and the words of the program."""
    options, rest = {}, words(line)
    while rest and rest[0].startswith("--"):
        name, given, value = rest[0][2:].partition("=")
        if name in ("bg", "no-raise-error"):
            options[name] = True
        elif name in ("out", "err", "proc"):
            if not given:
                if len(rest) < 2:
                    raise UsageError("argument --%s: expected one argument" % name)
                value = rest.pop(1)
            options[name] = value
        else:
            break
        rest = rest[1:]
    return options, rest


def script(shell, line, cell):
    """Run the cell as the standard input of a program.

    ``%%script [--out NAME] [--err NAME] [--bg] [--proc NAME] [--no-raise-error] program args``
    """
    options, argv = _script_options(line)
    if not argv:
        raise UsageError("%%script needs the name of a program")
    return _script(shell, options, argv, cell)


def _script(shell, options, argv, cell):
    body = cell.encode()
    in_argument = len(argv) == 1 and os.path.basename(argv[0]) in ("bash", "sh") and len(body) < _MAX_ARGUMENT
    given, sent = argv, body
    if in_argument and b"\0" not in body:
        # Otherwise a command of the script that reads its input would consume the script.
        given, sent = argv + ["-c", cell], None
    try:
        if options.get("bg"):
            return _background(shell, options, argv, body)
        if "out" in options or "err" in options:
            shell.session.flush()
            writers = [None if "out" in options else sys.stdout.write]
            writers.append(None if "err" in options else sys.stderr.write)
            code, out, err = _pumped(given, sent, *writers)
            for key, text in (("out", out), ("err", err)):
                if key in options:
                    shell.user_ns[options[key]] = text
        else:
            code = run(shell.session, given, sent)
    except FileNotFoundError:
        print("Couldn't find program: %r" % argv[0])
        return None
    shell.user_ns["_exit_code"] = code
    if code != 0 and not options.get("no-raise-error"):
        raise subprocess.CalledProcessError(code, body)
    return None


def _background(shell, options, argv, body):
    import threading

    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if "out" in options else subprocess.DEVNULL,
        stderr=subprocess.PIPE if "err" in options else subprocess.DEVNULL,
    )
    threading.Thread(target=_feed, args=(process.stdin, body), daemon=True).start()
    for key, value in (("out", process.stdout), ("err", process.stderr), ("proc", process)):
        if key in options:
            shell.user_ns[options[key]] = value


def _named(program):
    def magic(shell, line, cell):
        options, rest = _script_options(line)
        return _script(shell, options, program() + rest, cell)

    magic.__doc__ = "Run the cell with %s in a child process." % program()[0]
    return magic


MAGICS = {"sx": sx, "system": sx, "!": sx, "script": script}
for _name in ("bash", "sh", "perl", "ruby", "pypy"):
    MAGICS[_name] = _named(lambda name=_name: [name])
for _name in ("python", "python3"):
    MAGICS[_name] = _named(lambda: [sys.executable])
