"""Extension modules: order, silence, failures. B:E-51."""

import sys

import pytest
from test_prelude import FakeSession

from inkcell_runner import modules


def write(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return (name, str(path))


def test_names_become_visible_in_the_order_given(tmp_path):
    session = FakeSession()
    files = [
        write(tmp_path, "b.py", "first = 1\nwho = __name__\n"),
        write(tmp_path, "a.py", "second = first + 1\ndef twice(x):\n    return second * x\n"),
    ]
    modules.load(session, files)
    assert session.namespace["second"] == 2
    assert session.namespace["twice"](3) == 6
    assert session.namespace["who"] == "__main__"


def test_a_module_is_silent(tmp_path, capfd):
    session = FakeSession()
    session.namespace["here"] = session
    text = "import sys\nprint('x')\nprint('y', file=sys.stderr)\nhere.display({}, {})\n5\n"
    before = sys.stdout, sys.stderr
    modules.load(session, [write(tmp_path, "m.py", text)])
    assert (sys.stdout, sys.stderr) == before
    assert capfd.readouterr() == ("", "") and session.shown == []


@pytest.mark.parametrize(
    "text, want",
    [
        ("1/0", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("raise ValueError", "ValueError: "),
        ("class E(Exception):\n def __str__(s): 1/0\nraise E", "E: <unprintable>"),
    ],
)
def test_the_first_failure_ends_the_load(tmp_path, text, want):
    session = FakeSession()
    bad = write(tmp_path, "bad.py", text)
    before = sys.stdout, sys.stderr
    with pytest.raises(modules.ModuleLoadError) as caught:
        modules.load(session, [bad, write(tmp_path, "next.py", "reached = 1")])
    assert str(caught.value) == "Failed to load Python module %s: %s" % (bad[1], want)
    assert "reached" not in session.namespace
    assert (sys.stdout, sys.stderr) == before


def test_a_syntax_error_is_a_failed_load(tmp_path):
    bad = write(tmp_path, "bad.py", "def (")
    with pytest.raises(modules.ModuleLoadError) as caught:
        modules.load(FakeSession(), [bad])
    prefix = "Failed to load Python module %s: SyntaxError: " % bad[1]
    assert str(caught.value).startswith(prefix)


def test_an_unreadable_file(tmp_path):
    path = str(tmp_path / "none.py")
    with pytest.raises(modules.ModuleLoadError) as caught:
        modules.load(FakeSession(), [("none.py", path)])
    text = "Failed to read Python module %s: No such file or directory" % path
    assert str(caught.value) == text


def test_a_coding_line_is_honoured(tmp_path):
    path = tmp_path / "m.py"
    path.write_bytes("# coding: latin-1\nx = 'é'\n".encode("latin-1"))
    session = FakeSession()
    modules.load(session, [("m.py", str(path))])
    assert session.namespace["x"] == "é"


@pytest.mark.parametrize("text", ["input()", "import getpass; getpass.getpass()", "import sys; sys.stdin.readline()"])
def test_a_module_that_wants_input_is_named(tmp_path, text):
    from host import Host

    files = [write(tmp_path, "z.py", text)]
    with pytest.raises(AssertionError) as caught:
        Host(modules=files)
    assert "'t': 'failed'" in str(caught.value) and files[0][1] in str(caught.value)


def test_the_name_of_a_module_does_not_stay_in_the_pipe(tmp_path):
    from host import Host

    host = Host(modules=[write(tmp_path, "z.py", "import os; os.write(2, b'raw'); z = 5")])
    assert host.text("print(z)") == "5\n"
    host.close()
