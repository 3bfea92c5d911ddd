"""Shell: `env`, `run`, `sh`, `bash`.

Owns the choice of shell and the result object. Must not know how a child's pipes are read.
"""

import os
import shutil
import sys
from shlex import quote
from subprocess import CalledProcessError

from .paths import resolve, setting
from .process import Capture, Child
from .report import NAMES, preview, session, status

_CMD = 80
_SECRET_ENDINGS = ("_TOKEN", "_KEY", "_SECRET", "_PASSWORD")
_NO_SHELLS = ("nologin", "false", "true")


class ShellResult:
    """The result of a command: stdout, stderr and code; true if the code is 0."""

    __slots__ = ("cmd", "stdout", "stderr", "code", "timed_out", "truncated", "_is_shown")

    def __init__(self, cmd, stdout, stderr, code, timed_out=False, truncated=False, is_shown=False):
        self.cmd = cmd
        self.stdout = stdout
        self.stderr = stderr
        self.code = code
        self.timed_out = timed_out
        self.truncated = truncated
        self._is_shown = is_shown

    @property
    def returncode(self):
        return self.code

    @property
    def exit_code(self):
        return self.code

    def check_returncode(self):
        """Raise CalledProcessError unless the code is 0."""
        if self.code:
            raise CalledProcessError(self.code, self.cmd, self.stdout, self.stderr)

    def __bool__(self):
        return self.code == 0

    def __repr__(self):
        # A call as the last line of a cell shows its output once.
        parts = [] if self._is_shown else [self.stdout.rstrip("\n"), self.stderr.rstrip("\n")]
        if self.code != 0:
            parts.append("exit code %d%s" % (self.code, " (timed out)" if self.timed_out else ""))
        return "\n".join(part for part in parts if part)


def env(key=None, value=None):
    """List the environment, get one variable, or set it if a value is given."""
    if key is None:
        variables = dict(sorted(os.environ.items()))
        status("env", count=len(variables), keys=list(variables)[:NAMES])
        return variables
    action = "get" if value is None else "set"
    if value is not None:
        os.environ[key] = value = str(value)
    found = os.environ.get(key)
    shown = found
    if found is not None:
        # Status events are stored and shown; a secret stays in the process.
        shown = "***" if key.upper().endswith(_SECRET_ENDINGS) else preview(found)
    status("env", key=key, value=shown, action=action)
    return found


def _script(cmd):
    # Every shell takes text that begins like an option for one, even after -c; not every shell knows `--` there.
    return " " + cmd if cmd[:1] in ("-", "+") else cmd


def run(cmd, cwd=None, timeout=None, full=False):
    """Run a shell command and return its stdout, stderr and code."""
    shell = shutil.which("bash") or shutil.which("sh") or "/bin/sh"
    return _execute("sh", [shell, "-c", _script(cmd)], cmd, cwd, timeout, full, live=False)


def sh(cmd, cwd=None, timeout=None, full=False):
    """Run a command in your login shell and return its stdout, stderr and code."""
    shell = _login_shell()
    script = _script(cmd)
    snapshot = setting("SHELL_SNAPSHOT")
    if snapshot:
        # The command must run even if the snapshot is gone or fails.
        script = "[ -r {0} ] && . {0} >/dev/null 2>&1\n{1}".format(quote(snapshot), cmd)
    login = [] if setting("BASH_NO_LOGIN") else ["-l"]
    return _execute("sh", [shell, *login, "-c", script], cmd, cwd, timeout, full, live=False)


def bash(cmd, cwd=None, timeout=None, full=False):
    """Run a command under bash, showing its output live; returns stdout, stderr and code."""
    shell = shutil.which("bash")
    if shell is None:
        raise RuntimeError("bash was not found on PATH; run(cmd) uses whatever shell there is")
    return _execute("bash", [shell, "-c", _script(cmd)], cmd, cwd, timeout, full, live=True)


def _login_shell():
    shell = os.environ.get("SHELL")
    if shell and os.path.basename(shell) not in _NO_SHELLS and shutil.which(shell):
        return shell
    for name in ("bash", "zsh", "sh"):
        found = shutil.which(name)
        if found:
            return found
    raise RuntimeError("no shell was found on PATH; set SHELL to one")


def _execute(op, args, cmd, cwd, timeout, full, live):
    out = Capture("stdout", full, _to_stdout if live else None)
    err = Capture("stderr", full, _to_stderr if live else None)
    # Output that the cell printed before the command belongs before the command's output.
    session().flush()
    child = Child(args, None if cwd is None else str(resolve(cwd)), out, err)
    code = None
    try:
        code = child.finish(timeout)
    finally:
        stdout, stderr = out.text(), err.text()
        fields = {"cmd": cmd[:_CMD], "code": code, "output": preview(stdout + stderr)}
        if code is None:
            fields["interrupted"] = True
        if child.timed_out:
            fields["timed_out"] = True
        status(op, **fields)
    for stream in (out, err):
        if stream.cut:
            _notice("%s cut after %s; full=True keeps all of it" % (stream.name, stream.cut))
    if child.timed_out:
        _notice("command stopped after its time limit of %g s" % timeout)
    truncated = bool(out.cut or err.cut)
    return ShellResult(cmd, stdout, stderr, code, child.timed_out, truncated, is_shown=live)


def _notice(text):
    _to_stderr("[inkcell] %s\n" % text)


def _to_stdout(text):
    _show(sys.stdout, text)


def _to_stderr(text):
    _show(sys.stderr, text)


def _show(stream, text):
    # Use the Python stream, not the descriptor: a cell that captures or redirects its output wants the command's
    # output too.
    try:
        stream.write(text)
        stream.flush()
    except (AttributeError, ValueError):
        # The cell closed or removed its own stream; the result still has the text.
        pass
