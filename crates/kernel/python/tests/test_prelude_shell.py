"""Commands: results, live output, limits, interrupt, time limit. B:E-41, B:R-43."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from test_prelude import ns, session  # noqa: F401

from inkcell_runner.prelude import process


def test_env(ns, session, monkeypatch):
    monkeypatch.setenv("SOME_NAME", "v" * 600)
    assert ns.env("SOME_NAME") == "v" * 600
    assert session.last() == {
        "op": "env", "key": "SOME_NAME", "value": "v" * 500, "action": "get",
    }  # fmt: skip
    assert ns.env("SOME_NAME", 5) == "5" and os.environ["SOME_NAME"] == "5"
    assert session.last() == {"op": "env", "key": "SOME_NAME", "value": "5", "action": "set"}
    assert ns.env("NOT_THERE") is None and session.last()["value"] is None
    assert ns.env("MY_TOKEN", "hush") == "hush" and session.last()["value"] == "***"
    monkeypatch.delenv("MY_TOKEN")
    everything = ns.env()
    assert everything["SOME_NAME"] == "5" and list(everything) == sorted(everything)
    assert session.last() == {
        "op": "env", "count": len(everything), "keys": list(everything)[:20],
    }  # fmt: skip


@pytest.mark.parametrize("name", ["run", "sh", "bash"])
def test_result(ns, session, name, tmp_path, capsys):
    command = getattr(ns, name)
    (tmp_path / "d").mkdir()
    result = command("pwd; echo err >&2", cwd="d")
    assert result.stdout == str(tmp_path.resolve() / "d") + "\n"
    assert result.stderr.endswith("err\n") and result.code == 0
    # Issue 21, 5: as the last line of a cell it shows its output, unless the command has already shown it.
    assert result and repr(result) == ("" if name == "bash" else result.stdout + result.stderr.rstrip("\n"))
    op = "bash" if name == "bash" else "sh"
    event = session.last()
    assert set(event) == {"op", "cmd", "code", "output"}
    assert (event["op"], event["cmd"], event["code"]) == (op, "pwd; echo err >&2", 0)
    assert event["output"] == (result.stdout + result.stderr)[:500]
    assert session.flushes == 1
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ((result.stdout, "err\n") if name == "bash" else ("", ""))
    failed = command("exit 3")
    assert failed.code == failed.returncode == failed.exit_code == 3
    assert not failed and repr(failed) == "exit code 3"
    with pytest.raises(subprocess.CalledProcessError):
        failed.check_returncode()
    result.check_returncode()
    command("echo %s" % ("x" * 700))
    assert len(session.last()["cmd"]) == 80 and len(session.last()["output"]) == 500
    # The input is empty, and the group is the child's own.
    assert command("cat").code == 0
    own = command("ps -o pgid= -p $$ 2>/dev/null || echo $$; echo $$").stdout.split()
    assert own[0] == own[1]


def test_bash_is_bash(ns, monkeypatch):
    assert ns.bash("[[ -n $BASH_VERSION ]] && echo ${BASH##*/}").stdout == "bash\n"
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="bash was not found on PATH"):
        ns.bash("true")


def test_sh_uses_the_login_shell_and_the_snapshot(ns, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    bash = ns.run("command -v bash").stdout.strip()
    monkeypatch.setenv("SHELL", bash)
    (tmp_path / ".bash_profile").write_text("export FROM_PROFILE=yes\n")
    assert ns.sh("echo $FROM_PROFILE").stdout == "yes\n"
    monkeypatch.setenv("PI_BASH_NO_LOGIN", "1")
    assert ns.sh("echo $FROM_PROFILE").stdout == "\n"
    snapshot = tmp_path / "it's a snapshot"
    snapshot.write_text("greet() { echo hello; }\necho noise\n")
    monkeypatch.setenv("PI_SHELL_SNAPSHOT", str(snapshot))
    assert ns.sh("greet").stdout == "hello\n"
    snapshot.unlink()
    assert ns.sh("echo still").stdout == "still\n"
    monkeypatch.setenv("SHELL", "/usr/sbin/nologin")
    assert ns.sh("echo other").stdout == "other\n"


def test_bash_shows_output_while_it_runs(ns, tmp_path):
    """The helper shows the first line before the command may go on."""
    os.mkfifo(tmp_path / "go")
    shown = []

    class Out(io.StringIO):
        def write(self, text):
            if not shown:
                with open(tmp_path / "go", "w") as file:
                    file.write("on\n")
            shown.append(text)
            return len(text)

    with contextlib.redirect_stdout(Out()):
        result = ns.bash("echo first; read line < go; echo $line", timeout=60)
    assert result.stdout == "first\non\n" == "".join(shown)


def test_a_character_split_over_two_reads():
    capture = process.Capture("stdout", False, None)
    for chunk in (b"\xc3", b"\xa9\xff", b"\xc3"):
        capture.feed(chunk)
    capture.feed(b"", final=True)
    assert capture.text() == "é\ufffd\ufffd"


def test_a_closed_stream_does_not_matter(ns):
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        with contextlib.redirect_stdout(stream):
            result = ns.bash("echo x")
        assert result.stdout == "x\n"


def test_output_is_cut(ns, capsys):
    result = ns.run("seq 5000; seq 10 >&2")
    assert result.stdout == "".join("%d\n" % n for n in range(1, 3001))
    assert result.truncated and result.stderr.count("\n") == 10 and result.code == 0
    notice = "[inkcell] stdout cut after 3000 lines; full=True keeps all of it\n"
    assert capsys.readouterr().err == notice
    assert ns.run("seq 3000").truncated is False
    assert ns.run("seq 5000", full=True).stdout.count("\n") == 5000
    big = ns.bash("head -c 3000000 /dev/zero | tr '\\0' x")
    assert len(big.stdout) == 1 << 20 and big.truncated
    shown = capsys.readouterr()
    assert len(shown.out) == 1 << 20 and shown.err.count("\n") == 1


class Clock:
    """A clock that jumps ahead by a day once a command has written something."""

    def __init__(self):
        self.ahead = 0

    def monotonic(self):
        return time.monotonic() + self.ahead

    def write(self, text):
        self.ahead = 86400
        return len(text)

    def flush(self):
        pass


@pytest.fixture
def late(monkeypatch):
    """The output of a command whose time limit passes once it has written something."""
    clock = Clock()
    monkeypatch.setattr(process, "time", clock)
    return clock


def test_time_limit(ns, session, capsys, late):
    with contextlib.redirect_stdout(late):
        result = ns.bash("echo begun; sleep 600", timeout=60)
    assert result.timed_out and result.code == -signal.SIGTERM and not result
    assert result.stdout == "begun\n" and repr(result) == "exit code -15 (timed out)"
    assert session.last()["timed_out"] is True
    assert "time limit of 60 s" in capsys.readouterr().err
    assert process.GROUPS == set()


def test_time_limit_when_the_child_does_not_listen(ns, monkeypatch, late):
    monkeypatch.setattr(process, "GRACE", 0.2)
    with contextlib.redirect_stdout(late):
        result = ns.bash("trap '' TERM; echo deaf; while :; do sleep 0.05; done", timeout=60)
    assert result.code == -signal.SIGKILL


def test_a_child_that_closes_its_output_is_waited_for(ns):
    assert ns.run("exec >&- 2>&-; sleep 0.3; exit 4").code == 4
    assert ns.run("exec >&- 2>&-; sleep 60", timeout=0.2).timed_out


def test_a_background_process_does_not_hold_the_cell(ns, tmp_path):
    for name in ("go", "proof"):
        os.mkfifo(tmp_path / name)
    script = "(read x < go; seq 100000; echo alive > proof) & echo started"
    result = ns.bash(script, timeout=60)
    assert result.stdout == "started\n" and result.code == 0 and not result.timed_out
    # The process is released only now, so it can still write more than a pipe holds.
    with open(tmp_path / "go", "w") as file:
        file.write("on\n")
    assert (tmp_path / "proof").read_text() == "alive\n"


def test_a_background_process_that_never_stops_writing(ns, tmp_path):
    script = "while [ ! -e stop ]; do echo x; done & echo started"
    result = ns.bash(script, timeout=60)
    (tmp_path / "stop").touch()
    assert not result.timed_out and "started\n" in result.stdout


@pytest.mark.parametrize(
    "script, grace, ended_by",
    [
        ("trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.02; done", 60.0, "caught"),
        ("trap '' INT; echo ready; while :; do sleep 0.02; done", 0.3, "ready"),
    ],
)
def test_an_interrupt_goes_to_the_child_and_on_to_the_cell(
    ns, session, monkeypatch, script, grace, ended_by
):
    monkeypatch.setattr(process, "GRACE", grace)
    seen = []

    class Out(io.StringIO):
        def write(self, text):
            if not seen:
                threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            seen.append(text)
            return len(text)

    # A cell runs with Python's own handler, whatever handler the test runner has set.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with contextlib.redirect_stdout(Out()), pytest.raises(KeyboardInterrupt):
            ns.bash(script)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended_by in "".join(seen)
    assert session.last()["op"] == "bash" and session.last()["interrupted"] is True
    assert process.GROUPS == set()


def test_no_descriptor_or_child_is_left(ns):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    ns.run("true")
    before = len(os.listdir("/proc/self/fd"))
    # Other tests may have left children, which this test does not count.
    children = _children()
    for _ in range(5):
        ns.run("echo x")
    assert len(os.listdir("/proc/self/fd")) == before
    assert sys.getrefcount(process.GROUPS) and process.GROUPS == set()
    assert _children() <= children


def _children():
    """The processes whose parent is this one, including those that have ended."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as stat:
                parent = stat.read().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if int(parent) == os.getpid():
            found.add(int(name))
    return found


def test_a_missing_directory(ns, session):
    with pytest.raises(FileNotFoundError):
        ns.run("true", cwd="none")
