"""Magics without their percent sign, and the other meanings of a one-line cell."""

import os

import pytest
from host import Host

SHELLS = pytest.mark.parametrize("shell", ["lite", "ipython"])


@pytest.fixture
def started(tmp_path):
    hosts = []

    def start(shell):
        if shell == "ipython":
            pytest.importorskip("IPython")
        os.mkdir(tmp_path / "inside")
        hosts.append(Host(prelude="full", shell=shell, cwd=str(tmp_path)))
        return hosts[-1]

    yield start
    for host in hosts:
        host.close()


def result(host, code):
    events = host.run(code)
    return [event[1]["text/plain"] for event in events if event[0] == "result"]


@SHELLS
def test_lines_as_notebooks_have_them(shell, started, tmp_path):
    host = started(shell)
    assert result(host, "pwd") == [repr(str(tmp_path))]
    assert "inside" in host.text("ls -d inside")
    assert "inside" in host.text("ls")
    host.run("cd inside")
    assert result(host, "pwd") == [repr(str(tmp_path / "inside"))]
    host.run("cd ..")
    assert "CPU times" in host.text("time sum([1])")
    # Calls of helpers, and names that the user took, are Python.
    assert result(host, "pwd().name") == [repr(tmp_path.name)]
    assert result(host, "len(ls())") == ["1"]
    host.run("ls = 5")
    assert result(host, "ls") == ["5"]
    assert host.run("who = 1; who + nosuch")[-1][1]["status"] == "error"
    error = [event[1] for event in host.run("nosuch word") if event[0] == "error"]
    assert error[0]["ename"] == "SyntaxError"


def test_it_can_be_switched_off(started):
    host = started("lite")
    assert host.text("%automagic") == "\nAutomagic is OFF, % prefix IS needed for line magics.\n"
    assert result(host, "pwd") == ["<prelude helper pwd>"]
    assert host.run("who")[-1][1]["status"] == "error"
    assert host.text("%automagic on") == "\nAutomagic is ON, % prefix IS NOT needed for line magics.\n"
    assert host.run("who")[-1][1]["status"] == "ok"


def test_values_of_the_users_own_stay_under_their_names(started):
    host = started("lite")
    host.run("_ = 'mine'")
    assert result(host, "7") == ["7"]
    assert result(host, "_") == ["'mine'"]
    host.run("del _")
    host.run("8")
    assert result(host, "_") == ["8"]
    host.run("Out")
    assert result(host, "any(value is Out for value in Out.values())") == ["False"]


def test_a_warning_is_shown_once_in_each_cell(started):
    host = started("lite")
    code = "import warnings\nfor _ in range(3): warnings.warn('careful')"
    assert [host.text(code).count("careful')") for _ in range(2)] == [1, 1]


@SHELLS
def test_a_captured_failure_is_told(shell, started):
    events = started(shell).run("%%capture kept\nprint('text')\n1/0")
    said = b"".join(event[2] for event in events if event[0] == "stream").decode()
    said += "".join("\n".join(event[1]["plain"]) for event in events if event[0] == "error")
    assert "ZeroDivisionError" in said


def test_output_can_be_captured_as_ipython_does(started):
    pytest.importorskip("IPython")
    host = started("lite")
    code = (
        "from IPython.utils.capture import capture_output\nwith capture_output() as kept:\n"
        "    print('text')\n    display('shown')\nkept.stdout, len(kept.outputs)"
    )
    assert result(host, code) == ["('text\\n', 1)"]
    assert [event[0] for event in host.run("display('again')")][1] == "display"


def test_arguments_of_an_alias_go_where_it_says(started):
    host = started("lite")
    host.run("%alias greet echo hello %s and %s")
    assert host.text("%greet you me more") == "hello you and me more\n"
    assert host.run("%greet you")[-1][1]["status"] == "error"
