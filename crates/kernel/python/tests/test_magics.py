"""The magics: R-41, R-42, and their texts compared with IPython's if it is installed."""

import os
import re
import subprocess
import sys

import pytest
from test_magics_session import session  # noqa: F401

from inkcell_runner.shell import UsageError


def out(capsys, session, code):
    capsys.readouterr()
    session.cell(code)
    return capsys.readouterr().out


def test_time_gives_the_value_and_prints_times(session, capsys):
    assert session.cell("%time 1 + 1") == 2
    pattern = r"CPU times: user .+, sys: .+, total: .+\nWall time: .+\n$"
    assert re.match(pattern, capsys.readouterr().out)
    assert session.cell("%%time\nx = 4\nx + 1\n") == 5
    assert session.cell("%time x;") is None
    assert session.cell("v = %time 9\nv") == 9
    assert session.cell("def f(n):\n    return get_ipython().run_line_magic('time', 'n + 1')\nf(3)") == 4
    assert session.statuses[0]["op"] == "time"
    with pytest.raises(ZeroDivisionError):
        session.cell("%time 1/0")
    with pytest.raises(UsageError, match="Can't use statement directly after '%%time'!"):
        session.cell("%%time x\ny\n")
    with pytest.raises(SyntaxError):
        session.cell("%time foo bar")


def test_magics_inside_a_timed_cell(session, capfd):
    session.cell("%%time\n!echo hi\n%pwd\n")
    assert "hi\n" in capfd.readouterr().out


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0, "0 ns"),
        (1.23456e-6, "1.23 \xb5s"),
        (45e-9, "45 ns"),
        (0.0123, "12.3 ms"),
        (1.5, "1.5 s"),
        (3723, "1h 2min 3s"),
    ],
)
def test_lengths_of_time(seconds, text):
    from inkcell_runner.magics.timing import span

    assert span(seconds) == text


def test_timeit(session, capsys):
    text = out(capsys, session, "%timeit -n 10 -r 3 x = 1")
    pattern = r"[\d.]+ [nµm]?s ± [\d.]+ [nµm]?s per loop \(mean ± std\. dev\. of 3 runs, 10 loops each\)\n$"
    assert re.search(pattern, text)
    result = session.cell("r = %timeit -o -q -n1 -r1 1\nr")
    assert result.loops == 1 and result.best == result.worst == result.average and result.stdev == 0
    assert repr(result).startswith("<TimeitResult : ") and "of 1 run, 1 loop each" in str(result)
    session.cell("seen = []")
    session.cell("%%timeit -n 2 -r 1 y = 5\nseen.append(y)\n")
    assert session.namespace["seen"] == [5, 5] and "y" not in session.namespace
    session.cell("%%timeit -n1 -r1\nz = '''line\n  two'''\nseen.append(z)\n")
    assert session.namespace["seen"][-1] == "line\n  two"
    with pytest.raises(NameError):
        session.cell("%timeit -n1 nothing")
    with pytest.raises(SyntaxError):
        session.cell("%timeit a b")
    text = out(capsys, session, "x = 3\n%timeit -n1 -r1 -x")
    assert "per loop" in text


def test_prun(session, capsys):
    text = out(capsys, session, "%prun -l 5 sum(range(10))")
    assert "function calls in" in text and "Ordered by: internal time" in text


def test_capture(session, capsys):
    session.cell("%%capture got\nimport sys\nprint('o')\nprint('e', file=sys.stderr)\n!echo child\n42\n")
    got = session.namespace["got"]
    assert (got.stdout, got.stderr) == ("o\nchild\n", "e\n") and str(got) == got.stdout
    assert got.outputs[0].data == {"text/plain": "42"} and session.displays == []
    assert capsys.readouterr() == ("", "")
    got.show()
    assert capsys.readouterr() == ("o\nchild\n", "e\n") and session.displays[0][0] == {"text/plain": "42"}
    session.cell("%%capture part --no-stderr\nprint('o')\nprint('e', file=sys.stderr)\n")
    assert capsys.readouterr() == ("", "e\n") and session.namespace["part"].stdout == "o\n"
    session.cell("%%capture\nprint(1)\n")
    session.displays.clear()
    session.display({"application/x-omp-status": {"op": "x"}})
    session.cell("%%capture quiet\nget_ipython().display_pub.publish({'application/x-omp-status': {'op': 'x'}})\n")
    assert session.namespace["quiet"].outputs == [] and len(session.displays) == 2
    with pytest.raises(ZeroDivisionError):
        session.cell("%%capture failed\nprint('before')\n1/0\n")
    assert session.namespace["failed"].stdout == "before\n"


def test_writefile(session, capsys, tmp_path):
    """B:R-42"""
    session.cell("name = 'f'")
    assert out(capsys, session, "%%writefile d/{name}.py\nx = '%time'\n!ls\n") == "Writing d/f.py\n"
    assert (tmp_path / "d" / "f.py").read_text() == "x = '%time'\n!ls\n"
    assert out(capsys, session, "%%writefile -a d/f.py\ny\n") == "Appending to d/f.py\n"
    assert out(capsys, session, "%%file d/f.py\nz\n") == "Overwriting d/f.py\n"
    assert (tmp_path / "d" / "f.py").read_text() == "z\n"
    assert [status["op"] for status in session.statuses] == ["writefile"] * 3
    with pytest.raises(UsageError):
        session.cell("%%writefile\nx\n")


def test_scripts(session, capfd):
    session.cell("%%bash\necho one\necho two >&2\n")
    assert capfd.readouterr() == ("one\n", "two\n")
    session.cell("%%bash -s a b\necho $1-$2\n")
    session.cell("%%sh\ncat\necho after\n")
    session.cell("%%python\nprint(5)\n")
    session.cell("%%script cat\nbody\n")
    assert capfd.readouterr().out == "a-b\nafter\n5\nbody\n"
    session.cell("%%bash --out o --err e\necho x; echo y >&2\n")
    assert (session.namespace["o"], session.namespace["e"]) == ("x\n", "y\n")
    with pytest.raises(subprocess.CalledProcessError) as raised:
        session.cell("%%bash\nexit 3\n")
    assert raised.value.returncode == 3 and session.namespace["_exit_code"] == 3
    session.cell("%%bash --no-raise-error\nexit 2\n")
    session.cell("%%script nosuchprogram\nx\n")
    assert capfd.readouterr().out == "Couldn't find program: 'nosuchprogram'\n"


@pytest.mark.parametrize(
    "magic, kind",
    [
        ("html", "text/html"),
        ("HTML", "text/html"),
        ("javascript", "application/javascript"),
        ("js", "application/javascript"),
        ("latex", "text/latex"),
        ("markdown", "text/markdown"),
        ("svg", "image/svg+xml"),
    ],
)
def test_rich_cells(session, magic, kind):
    session.cell("%%" + magic + "\n<b>{x}</b>\n")
    data = session.displays[0][0]
    body = "<b>{x}</b>" if magic == "svg" else "<b>{x}</b>\n"
    assert data[kind] == body and data["text/plain"].startswith("<IPython.core.display.")


def test_run(session, capsys, tmp_path):
    (tmp_path / "s.py").write_text("import sys\nprint(__name__, sys.argv[1:])\nv = globals().get('w', 1)\n")
    session.cell("w = 5")
    assert out(capsys, session, "%run s.py a 'b c'") == "__main__ ['a', 'b c']\n"
    assert session.namespace["v"] == 1 and session.namespace["__name__"] == "__main__"
    assert out(capsys, session, "%run -i s") == "__main__ []\n" and session.namespace["v"] == 5
    assert out(capsys, session, "%run -n s.py") == "s []\n"
    (tmp_path / "e.py").write_text("q = 1\nraise SystemExit(0)\n")
    session.cell("%run e.py")
    (tmp_path / "bad.py").write_text("half = 1\n1/0\n")
    with pytest.raises(ZeroDivisionError):
        session.cell("%run bad.py")
    assert session.namespace["half"] == 1
    with pytest.raises(Exception, match="File `'none'` not found."):
        session.cell("%run none")
    (tmp_path / "n.ipynb").write_text(
        '{"cells":[{"cell_type":"markdown","source":"!x"},{"cell_type":"code","source":["nb = !echo 3\\n","nb"]}]}'
    )
    session.cell("%run n.ipynb")
    assert session.namespace["nb"] == ["3"]
    (tmp_path / "l.py").write_text("loaded = w + 1\n")
    session.cell("%load l.py")
    assert session.namespace["loaded"] == 6


def test_environment(session, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("SOME_TOKEN", "s3cret")
    assert out(capsys, session, "%env INK_A=1 2") == "env: INK_A=1 2\n"
    assert session.cell("%env INK_A") == "1 2"
    session.cell("v = 'x'")
    assert out(capsys, session, "%set_env INK_A {v}") == "env: INK_A=x\n"
    assert os.environ.pop("INK_A") == "x"
    assert session.cell("%env")["SOME_TOKEN"] == "<hidden>"
    with pytest.raises(UsageError, match="Environment does not have key: INK_NONE"):
        session.cell("%env INK_NONE")
    with pytest.raises(UsageError):
        session.cell("%set_env INK_A")


def test_folders(session, capsys, tmp_path):
    (tmp_path / "a b").mkdir()
    assert out(capsys, session, "%cd a b") == "%s\n" % (tmp_path / "a b")
    assert session.cell("%pwd") == str(tmp_path / "a b")
    assert out(capsys, session, "%cd -") == "%s\n" % tmp_path
    assert out(capsys, session, "%cd -q 'a b'") == ""
    assert out(capsys, session, "%cd nowhere").startswith("[Errno 2] No such file or directory: 'nowhere'\n")
    session.cell("%cd -q ..")


def test_aliases(session, capfd, tmp_path):
    session.cell("%mkdir made")
    session.cell("%%writefile made/f\nhello\n")
    session.cell("%cp made/f made/g\n%mv made/g made/h\n%cat made/h\n%ls made\n%rm -r made")
    assert capfd.readouterr().out == "Writing made/f\nhello\nf\nh\n"
    session.cell("%alias greet echo hello")
    session.cell("%greet you")
    assert capfd.readouterr().out == "hello you\n"


def test_reset_does_not_ask(session, capsys):
    session.cell("a = 1")
    session.cell("%reset")
    assert "a" not in session.namespace and out(capsys, session, "%who") == "Interactive namespace is empty.\n"
    session.cell("ab = 1; bc = 2; c = bc")
    session.cell("%reset_selective -f ^a")
    session.cell("%xdel bc")
    assert session.cell("%who_ls") == []
    assert out(capsys, session, "%who int") == "No variables match your requested type.\n"


def test_history(session, capsys):
    session.cell("a = 1")
    session.cell("b = 2\nb")
    assert out(capsys, session, "%history -n 1-2") == "   1: a = 1\n   2:\nb = 2\nb\n"
    assert out(capsys, session, "%history -o 2") == "b = 2\nb\n2\n"
    assert out(capsys, session, "%hist -l 1") == "%history -o 2\n"
    assert out(capsys, session, "%rerun 2").endswith("=== Output: ===\n")
    with pytest.raises(UsageError):
        session.cell("%history x")


def test_settings(session, capsys):
    session.cell("%config InlineBackend.figure_format = 'retina'")
    assert session.cell("%config InlineBackend.figure_format") == "retina"
    session.cell("%config InteractiveShell.ast_node_interactivity = 'all'")
    assert session.shell.ast_node_interactivity == "all"
    with pytest.raises(UsageError):
        session.cell("%config InteractiveShell.ast_node_interactivity = 'some'")
    session.cell("%config Unknown.thing = 1")
    assert "no effect" in capsys.readouterr().err
    with pytest.raises(UsageError, match="Invalid config statement"):
        session.cell("%config nonsense")
    assert out(capsys, session, "%xmode Plain") == "Exception reporting mode: Plain\n"
    for quiet in ("%colors NoColor", "%automagic off", "%autosave 60", "%logstart", "%store x", "%gui", "%pdb on"):
        session.cell(quiet)
    with pytest.raises(UsageError, match="interactive stdin is not supported"):
        session.cell("%debug")


def test_every_magic_of_the_table_exists(session):
    for kind, table in session.shell.magics_manager.magics.items():
        for name, magic in table.items():
            assert magic.__doc__, (kind, name)


def test_lsmagic(session):
    text = str(session.cell("%lsmagic"))
    assert text.startswith("Available line magics:\n%aimport  %alias") and "\nAvailable cell magics:\n%%" in text


COMPARED = [
    "x = 1; s = 'a\\nb'; L = [1, 2]; d = {}; long = 'x' * 80; f = 2.5",
    "%who", "%whos", "%who int str", "%whos float", "%who_ls", "%who nothing",
    "%history -n 1-3", "%history 2 3", "%env INK_Q=5", "%set_env INK_Q 6", "%env INK_Q", "%pwd", "%cd /",
    "%cd /nonexistent-folder", "%unload_ext nope", "%load_ext autoreload", "%load_ext autoreload", "%load_ext json",
    "%precision 3", "2.0", "%precision", "%pprint", "%pprint", "%xdel nope", "%sx printf 'a\\nb'", "!!echo 2",
    "z = !echo a b; echo c", "z.n, z.s, z.fields(0), z.grep('c')", "%%capture c\nprint(3)\n4\n", "c.stdout",
    "n = 3", "q = !echo {n} $n $$n '$n' {n+1} ${n}", "list(q)", "r = !echo $HOME_NOT_SET {n}", "list(r)",
    "%%bash --out o\necho $((1+2))\n", "o", "%%script nosuchprogram\nx\n", "%reset_selective -f z", "%who",
    "%xdel L", "%who list",
]

THEIRS = """
import sys
from IPython.core.interactiveshell import InteractiveShell
ip = InteractiveShell.instance()
for code in %r:
    print("=====", repr(code), flush=True)
    ip.run_cell(code, store_history=True)
    sys.stdout.flush()
"""


def test_ipython_prints_the_same(session, capfd, tmp_path):
    pytest.importorskip("IPython")
    env = dict(os.environ, IPYTHONDIR=str(tmp_path / "ipython"))
    done = subprocess.run(
        [sys.executable, "-c", THEIRS % COMPARED], capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL
    )
    theirs = re.sub(r"^Out\[\d+\]: \n?", "", done.stdout, flags=re.M)
    plain = session.shell.display_formatter.formatters["text/plain"]
    capfd.readouterr()
    for code in COMPARED:
        print("=====", repr(code), flush=True)
        value = session.cell(code)
        if value is not None:
            print(plain(value), flush=True)
    session.cell("%precision")
    os.environ.pop("INK_Q", None)
    ours = capfd.readouterr().out
    split = lambda text: [part.strip() for part in text.split("=====")]  # noqa: E731
    assert split(ours) == split(theirs)
