"""The result of `get_ipython()`: R-40, R-43, and the calls that notebooks make."""

import os
import subprocess
import sys
import textwrap

import pytest
from host import LIMIT
from test_magics_session import session  # noqa: F401

from inkcell_runner.shell import Settings, UsageError


def test_line_magics_get_their_line_expanded(session):
    seen = []
    session.shell.register_magic_function(lambda line: seen.append(line), "line", "note")
    session.cell("x = 5")
    session.cell("%note {x} $x $$x {x + 1} '$x'")
    session.cell("%note {nothing} $x")
    session.cell("def f(y):\n    %note {y}\nf('local')")
    assert seen == ["5 5 $x 6 '$x'", "{nothing} $x", "local"]


def test_magics_of_every_kind(session):
    ip = session.shell
    ip.register_magic_function(lambda line, cell=None: (line, cell), "line_cell", "both")
    assert session.cell("%both a b") == ("a b", None)
    assert session.cell("%%both a\nbody\n") == ("a", "body\n")
    assert session.cell("v = %both q\nv") == ("q", None)
    assert ip.find_line_magic("both") and ip.find_cell_magic("both") and ip.find_magic("nope") is None
    assert {"time", "both"} <= set(ip.magics_manager.magics["line"])
    assert ip.magic("both  z") == ("z", None)


@pytest.mark.parametrize(
    "code, message",
    [
        ("%foo", "Line magic function `%foo` not found."),
        ("%%foo\nx", "Cell magic `%%foo` not found."),
        (
            "%html x",
            "Line magic function `%html` not found (But cell magic `%%html` exists, did you mean that instead?).",
        ),
        ("%%pwd\nx", "Cell magic `%%pwd` not found (But line magic `%pwd` exists, did you mean that instead?)."),
        (
            "%%time\n",
            "%%time is a cell magic, but the cell body is empty. Did you mean the line magic %time (single %)?",
        ),
        ("%%html\n", "%%html is a cell magic, but the cell body is empty."),
    ],
)
def test_unknown_magics_have_ipythons_wording(session, code, message):
    with pytest.raises(UsageError) as raised:
        session.cell(code)
    assert str(raised.value) == message


class Gathered:
    def __init__(self, shell=None):
        self.shell = shell
        self.magics = {"line": {"one": self.one}, "cell": {"two": "two"}}

    def one(self, line):
        return "one " + line

    def two(self, line, cell):
        return "two " + cell


def test_classes_and_instances_of_magics(session):
    session.shell.register_magics(Gathered)
    assert session.cell("%one x") == "one x"
    session.shell.register_magics(Gathered(session.shell))
    assert session.cell("%%two\nx") == "two x\n"


def test_ipythons_own_magics_base_class(session):
    magic = pytest.importorskip("IPython.core.magic")

    @magic.magics_class
    class Mine(magic.Magics):
        @magic.line_magic
        def mine(self, line):
            return self.shell is session.shell and line

    session.shell.register_magics(Mine)
    assert session.cell("%mine a") == "a"
    session.shell.register_magics(Mine(session.shell))
    assert session.cell("%mine b") == "b"


def test_run_cell_reports_in_its_result(session, capsys):
    good = session.shell.run_cell("x = 2\nx")
    assert good.success and good.error_in_exec is None and session.namespace["x"] == 2
    good.raise_error()
    bad = session.shell.run_cell("1/0")
    assert not bad.success and isinstance(bad.error_in_exec, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        bad.raise_error()
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert isinstance(session.shell.run_cell("x =").error_before_exec, SyntaxError)


def test_names(session):
    ip = session.shell
    ip.push({"a": 1})
    local = 7  # noqa: F841
    ip.push("local")
    assert ip.user_ns["a"] == 1 and ip.user_ns["local"] == 7
    assert ip.ev("a + 1") == 2
    ip.ex("b = a")
    ip.drop_by_id({"b": ip.user_ns["b"]})
    assert "b" not in ip.user_ns and ip.user_global_ns is ip.user_ns
    # Pandas and other libraries use it to tell a notebook from a terminal.
    assert ip.kernel.shell is ip and ip.kernel.comm_manager.register_target("t", print) is None
    assert type(ip).__name__ == "ZMQInteractiveShell"
    assert "IPKernelApp" not in ip.config
    assert ip.get_ipython() is ip and ip.execution_count == session.count


def test_events(session, capsys):
    seen = []
    ip = session.shell
    old = lambda: seen.append("old")  # noqa: E731
    ip.events.register("pre_run_cell", lambda info: seen.append(info.raw_cell))
    ip.events.register("pre_run_cell", old)
    ip.events.register("post_run_cell", lambda result: seen.append(result.info.raw_cell))

    def broken(info):
        raise ValueError("callback")

    ip.events.register("pre_run_cell", broken)
    session.cell("1")
    assert seen == ["1", "old", "1"]
    assert "callback" in capsys.readouterr().err
    ip.events.unregister("pre_run_cell", old)
    with pytest.raises(ValueError):
        ip.events.unregister("pre_run_cell", old)
    with pytest.raises(TypeError):
        ip.events.register("pre_run_cell", 3)


def test_transformers_of_the_user(session):
    session.shell.input_transformers_cleanup.append(lambda lines: [line.replace("PLUS", "+") for line in lines])
    session.shell.input_transformers_post.append(lambda lines: lines + ["\n40 + 2"])
    assert session.cell("y = 1 PLUS 1") == 42
    assert session.namespace["y"] == 2


def test_configuration_is_permissive(session):
    config = session.shell.config
    config.InlineBackend.rc = {}
    assert session.shell.config.InlineBackend.rc == {}
    with pytest.raises(AttributeError):
        Settings().lower


def test_custom_exceptions_are_accepted(session):
    session.shell.set_custom_exc((ValueError,), lambda *a: None)


def test_shell_lines(session, capfd):
    session.cell("d = 'x y'")
    session.cell("!echo {d}; echo oops >&2; exit 3")
    read = capfd.readouterr()
    assert (read.out, read.err) == ("x y\n", "oops\n")
    assert session.namespace["_exit_code"] == 3
    # The code that a shell reports for a child ended by a signal.
    session.cell("!exit 137")
    assert session.namespace["_exit_code"] == -9


def test_children_have_no_input(session, capfd):
    """F-044."""
    session.cell("!cat; read x; echo after")
    assert capfd.readouterr().out == "after\n"
    assert session.cell("x = !cat\nlen(x)") == 0


def test_output_as_lines(session):
    lines = session.cell("z = !printf 'a b\\nc d\\n'; echo e >&2; exit 4\nz")
    assert lines == ["a b", "c d", "e"] and lines.returncode == 4
    assert (lines.n, lines.s, lines.l) == ("a b\nc d\ne", "a b c d e", lines)
    assert lines.grep("^c") == ["c d"] and lines.fields(0) == ["a", "c", "e"]
    assert lines.grep("^c", prune=True) == ["a b", "e"]
    assert session.shell.getoutput("echo 1", split=False) == "1"
    here = session.cell("p = !pwd\np")
    assert [str(path) for path in here.p] == [os.getcwd()]


def test_long_output_is_cut_with_a_notice(session, capsys):
    """R-43."""
    lines = session.cell("z = !seq 5000\nz")
    assert len(lines) == 3000 and lines.truncated
    assert capsys.readouterr().err == "[output cut: kept 3000 of 5000 lines, the first 23893 of 23893 bytes read]\n"
    lines = session.cell("z = !head -c 3000000 /dev/zero\nz")
    assert len(lines.n) == 1024 * 1024


def test_an_interrupt_ends_the_child(session, tmp_path):
    """F-012: started like a kernel, in its own group, which gets the signal."""
    program = """
        import sys, os, threading, signal, time
        sys.path[:0] = %r
        import test_magics_session, inkcell_runner
        session = test_magics_session.FakeSession()
        inkcell_runner.current = lambda: session
        # A command in the background of a script is started with the signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        def strike():
            # When the child is there; on a busy machine that takes a while.
            for _ in range(6000):
                time.sleep(0.01)
                for pid in filter(str.isdigit, os.listdir("/proc")):
                    try:
                        words = open("/proc/%%s/cmdline" %% pid, "rb").read().split(b"\\0")
                        environ = open("/proc/%%s/environ" %% pid, "rb").read()
                    except OSError:
                        continue
                    if words[:2] == [b"sleep", b"61"] and b"INK_TEST=%%d" %% os.getpid() in environ:
                        return os.killpg(0, signal.SIGINT)
        os.environ["INK_TEST"] = str(os.getpid())
        threading.Thread(target=strike, daemon=True).start()
        try:
            session.cell(%r)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    for cell in ("!sleep 61", "x = !sleep 61", "%%bash\nsleep 61\n", "%%capture\n!sleep 61\n"):
        here = os.path.dirname(os.path.abspath(__file__))
        code = textwrap.dedent(program) % ([here, os.path.dirname(here)], cell)
        done = subprocess.run(
            [sys.executable, "-c", code], start_new_session=True, capture_output=True, text=True, timeout=2 * LIMIT
        )
        assert done.stdout == "interrupted\n", (cell, done.stderr)


def test_import_is_light():
    """It imports nothing that a plain cell does not need."""
    code = (
        "import sys; sys.path.insert(0, %r); before = set(sys.modules);"
        "import inkcell_runner.shell, inkcell_runner.transform;"
        "print(sorted(set(sys.modules) - before))"
    ) % os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("subprocess", "inspect", "asyncio", "json", "tokenize", "shlex", "formatting"):
        assert "'%s'" % heavy not in out
