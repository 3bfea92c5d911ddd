"""Cells run by the interpreter's own IPython: they give the same frames as the runner's own shell."""

import os
import signal
import struct
import sys

import pytest

pytest.importorskip("IPython")

from host import Host  # noqa: E402


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    one = Host(shell="ipython", cwd=str(home), env=dict(os.environ, HOME=str(home)))
    yield one
    one.close()


def said(events):
    """Events as short rows: streams joined, results and displays by their text, errors by name."""
    rows = []
    for event in events:
        kind = event[0]
        if kind in ("stream", "fd"):
            text = event[2].decode().replace("\r\n", "\n")
            if rows and rows[-1][0] == event[1]:
                rows[-1] = (event[1], rows[-1][1] + text)
            else:
                rows.append((event[1], text))
        elif kind in ("display", "result"):
            rows.append((kind, event[1].get("text/plain", event[1])))
        elif kind == "error":
            rows.append((kind, event[1]["ename"], event[1]["evalue"]))
        elif kind == "input":
            rows.append((kind, event[1]["prompt"], event[1]["password"]))
        elif kind == "clear":
            rows.append((kind, event[1]["wait"]))
    return rows


REFUSED = "raw_input was called, but this frontend does not support input requests."
NO_PASSWORD = REFUSED.replace("raw_input", "getpass")

CELLS = [
    ("1 + 1", [("result", "2")]),
    ("_", [("result", "2")]),
    ("1;", []),
    ("'a;'", [("result", "'a;'")]),
    ("None", []),
    ("", []),
    ("x = 20\nx", [("result", "20")]),
    ("print('a')\n'r'", [("stdout", "a\n"), ("result", "'r'")]),
    (
        "import sys\nprint(1)\nprint(2, file=sys.stderr)\ndisplay(3)\nprint(4)\n5",
        [("stdout", "1\n"), ("stderr", "2\n"), ("display", "3"), ("stdout", "4\n"), ("result", "5")],
    ),
    ("display({'text/plain': 'raw'}, raw=True)", [("display", "raw")]),
    (
        "from IPython.display import clear_output\nprint(1)\nclear_output(wait=True)\nprint(2)",
        [("stdout", "1\n"), ("clear", True), ("stdout", "2\n")],
    ),
    ("1 / 0", [("error", "ZeroDivisionError", "division by zero")]),
    ("raise KeyboardInterrupt", [("error", "KeyboardInterrupt", "")]),
    ("nothing", [("error", "NameError", "name 'nothing' is not defined")]),
    ("%nothing", [("error", "UsageError", "Line magic function `%nothing` not found.")]),
    ("%%nothing\na", [("error", "UsageError", "Cell magic `%%nothing` not found.")]),
    ("input('name? ')", [("input", "name? ", False), ("error", "StdinNotImplementedError", REFUSED)]),
    ("import getpass\ngetpass.getpass()", [("input", "Password: ", True), ("error", "StdinNotImplementedError", NO_PASSWORD)]),
    ("sys.stdin.readline()", [("input", "", False), ("error", "StdinNotImplementedError", REFUSED)]),
    ("!echo a; echo b >&2", [("stdout", "a\nb\n")]),
    ("lines = !echo a; echo b\nlines", [("result", "['a', 'b']")]),
    ("print('first', end='')\n!echo second", [("stdout", "firstsecond\n")]),
    ("%%bash\necho one; echo two >&2", [("stdout", "one\n"), ("stderr", "two\n")]),
    ("%%capture kept\nprint(1)\ndisplay(2)", []),
    ("kept.stdout, len(kept.outputs)", [("result", "('1\\n', 1)")]),
    ("%env INKCELL_A=1", [("stdout", "env: INKCELL_A=1\n")]),
    ("%%writefile module_a.py\ndef f(): return 1", [("stdout", "Writing module_a.py\n")]),
    ("%load_ext autoreload\n%autoreload 2\nimport module_a\nmodule_a.f()", [("result", "1")]),
    ("%%writefile script.py\nprint('ran')\nfrom_script = 7", [("stdout", "Writing script.py\n")]),
    ("%run script.py\nfrom_script", [("stdout", "ran\n"), ("result", "7")]),
    ("%autosave 60", [("stderr", "%autosave has no effect here: every change of a notebook is saved.\n")]),
    ("%edit", [("stderr", "%edit has no effect here: there is no editor to open.\n")]),
    ("%config IPCompleter.use_jedi = False", []),
    ("get_ipython().run_cell('inner = 1')\nprint(inner)", [("stdout", "1\n")]),
    ("import asyncio\nloop = asyncio.get_running_loop()\nawait asyncio.sleep(0, 7)", [("result", "7")]),
    ("async def same(): return asyncio.get_running_loop() is loop\nawait same()", [("result", "True")]),
    ("from IPython import get_ipython as real\nreal() is get_ipython()", [("result", "True")]),
    ("type(get_ipython()).__name__", [("result", "'ZMQInteractiveShell'")]),
    ("__name__, sys.modules['__main__'].x", [("result", "('__main__', 20)")]),
]


def test_cells_give_the_frames_of_the_runners_own_shell(shell):
    """B:R-07 B:R-30 B:R-31 B:R-32 B:R-38 B:X-25 F-044"""
    for code, wanted in CELLS:
        assert said(shell.run(code)) == wanted, code


def test_a_number_goes_with_the_result_and_none_with_what_is_silent(shell):
    """B:R-09"""
    events = shell.run("'counted'")
    number = events[0][1]["count"]
    assert events[1][2]["count"] == number
    events = shell.run("silent = 5\nsilent", silent=True)
    assert (events[0][1]["count"], said(events)) == (None, [])
    events = shell.run("silent, Out[%d], In[-2]" % number)
    assert events[0][1]["count"] == number + 1
    assert said(events) == [("result", "(5, 'counted', \"'counted'\")")]


def error(events):
    return next(event[1] for event in events if event[0] == "error")


def test_tracebacks_are_ipythons_coloured_and_plain(shell):
    """B:R-33"""
    one = error(shell.run("def fail():\n    return 1 / 0\nfail()"))
    text = "\n".join(one["plain"])
    assert "\x1b" in "".join(one["traceback"]) and "\x1b" not in text
    assert one["traceback"] != one["plain"] and len(one["traceback"]) == len(one["plain"])
    assert "----> 3 fail()" in text and "----> 2     return 1 / 0" in text
    one = error(shell.run("x = )"))
    assert one["ename"] == "SyntaxError" and "x = )" in "\n".join(one["plain"])


def test_frames_of_the_runner_are_not_shown(shell):
    text = "\n".join(error(shell.run("input()"))["plain"])
    assert "input()" in text and "inkcell_runner" not in text
    events = shell.run("%debug")
    assert ("input", "ipdb> ", False) in said(events), "the debugger asks, and is refused"
    assert "inkcell_runner" not in str(said(events)), "it starts in the user's frame"


def test_leaving_is_an_error_of_the_cell(shell):
    """SystemExit, and IPython's own `exit`."""
    for code, value in [("raise SystemExit(3)", "3"), ("exit", ""), ("quit()", "")]:
        assert error(shell.run(code))["ename"] == "SystemExit", code
    assert said(shell.run("1")) == [("result", "1")]


def test_a_traceback_shown_by_the_user_does_not_end_the_cell(shell):
    code = "try: 1 / 0\nexcept Exception: get_ipython().showtraceback()\nprint('on')"
    rows = said(shell.run(code))
    assert [row[0] for row in rows] == ["stderr", "stdout"] and "ZeroDivisionError" in rows[0][1]
    rows = said(shell.run("_ = get_ipython().run_cell('1 / 0')\nprint('on')"))
    assert [row[0] for row in rows] == ["stderr", "stdout"], rows
    rows = said(shell.run("_ = get_ipython().run_cell('1 / 0')\nnothing"))
    assert [row[0] for row in rows] == ["stderr", "error"] and rows[1][1] == "NameError", rows


def test_a_value_that_cannot_be_shown_does_not_fail_the_cell(shell):
    """As in the runner's own shell: the user can read the traceback, and sees the other representations."""
    rows = said(shell.run("class Bad:\n    def _repr_html_(self): 1 / 0\n    def __repr__(self): return 'bad'\nBad()"))
    assert [row[0] for row in rows] == ["stderr", "result"] and rows[1][1] == "bad"
    assert "ZeroDivisionError: division by zero" in rows[0][1]
    rows = said(shell.run("Bad.__repr__ = lambda self: 1 / 0\nBad()\n"))
    assert [row[0] for row in rows] == ["stderr"]


def test_a_callback_that_fails_does_not_fail_the_cell(shell):
    shell.run("def callback(*_): raise LookupError('lost')")
    for event in ("pre_run_cell", "post_run_cell"):
        shell.run("get_ipython().events.register(%r, callback)" % event)
        events = shell.run("print('on')")
        shell.run("get_ipython().events.unregister(%r, callback)" % event)
        assert events[-1][1]["status"] == "ok"
        rows = said(events)
        assert "on\n" in "".join(row[1] for row in rows if row[0] == "stdout"), rows
        assert "LookupError: lost" in "".join(row[1] for row in rows if row[0] == "stderr"), rows


def test_exceptions_that_are_hard_to_show_are_shown(shell):
    one = error(shell.run("class Mute(Exception):\n    def __str__(self): raise RuntimeError\nraise Mute"))
    assert one["ename"] == "Mute"
    one = error(shell.run("raise ValueError('y' * 300_000)"))
    assert len(one["evalue"]) < 101_000 and len("".join(one["plain"])) < 202_000
    if sys.version_info >= (3, 11):
        one = error(shell.run("raise ExceptionGroup('group', [ValueError(1), KeyError(2)])"))
        text = "\n".join(one["plain"])
        assert one["ename"] == "ExceptionGroup" and "ValueError: 1" in text and "KeyError: 2" in text


def test_displays_have_ids_and_can_be_changed(shell):
    events = shell.run("handle = display(1, display_id='d')\nhandle.update(2)")
    first, second = [event[2] for event in events if event[0] == "display"]
    assert (first["display_id"], first.get("update"), first["data"]) == ("d", None, {"text/plain": "1"})
    assert (second["display_id"], second["update"], second["data"]) == ("d", True, {"text/plain": "2"})


def test_images_stay_bytes(shell):
    events = shell.run("class Image:\n    def _repr_png_(self): return b'\\x89PNG\\xff'\nImage()")
    assert events[1][1]["image/png"] == b"\x89PNG\xff"
    code = "from IPython.display import display\ndisplay({'image/png': 'iVBORw0KGgo='}, raw=True)"
    assert shell.run(code)[1][1]["image/png"] == b"\x89PNG\r\n\x1a\n", "base64 text is undone once"


# In a cell that awaits, the loop prints the word while the task waits.
SOON = "asyncio.get_running_loop().call_soon(lambda: print('go', flush=True))\n"


@pytest.mark.parametrize(
    "wait, wanted",
    [
        ("print('go', flush=True)\ntime.sleep(60)", ""),
        ("print('go', flush=True)\nwhile True: pass", ""),
        (SOON + "await asyncio.sleep(60)", ""),
        (SOON + "async def f():\n    try: await asyncio.sleep(60)\n    finally: print('cleaned')\nawait f()", "cleaned\n"),
        (SOON + "try: await asyncio.sleep(60)\nexcept asyncio.CancelledError: print('caught')", "caught\n"),
    ],
)
def test_an_interrupt_ends_the_cell_and_nothing_else(shell, wait, wanted):
    """B:R-20 F-012: this includes a task that waits on the loop, however it reacts."""

    def interrupt(host):
        host.wait_for_go()
        os.kill(host.process.pid, signal.SIGINT)

    events = shell.run("import asyncio, time\nkept = 1\n" + wait, after=interrupt)
    assert error(events)["ename"] == "KeyboardInterrupt"
    assert wanted in "".join(row[1] for row in said(events) if row[0] == "stdout")
    if wait == SOON + "await asyncio.sleep(60)":
        assert "await asyncio.sleep(60)" in "\n".join(error(events)["plain"]), "it says where"
    assert said(shell.run("kept")) == [("result", "1")]
    assert said(shell.run("await asyncio.sleep(0, 8)")) == [("result", "8")], "the loop is whole"


def test_a_second_interrupt_does_not_spoil_the_answer_to_the_first(shell):
    """B:R-21: it comes during the layout of the traceback, which may take longer than the ladder waits."""
    shell.run(
        "import os, signal, time\n"
        "def interrupt():\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(0.01)\n"
        "tracebacks = get_ipython().InteractiveTB\n"
        "whole = tracebacks.structured_traceback\n"
        "def slow(*args, **kwargs):\n    interrupt()\n    return whole(*args, **kwargs)\n"
        "tracebacks.structured_traceback = slow"
    )
    events = shell.run("interrupt()")
    assert error(events)["ename"] == "KeyboardInterrupt"
    assert "interrupt()" in "\n".join(error(events)["plain"]), "it says where"
    assert [row[0] for row in said(events)] == ["error"], "and nothing besides"
    shell.run("tracebacks.structured_traceback = whole")
    assert error(shell.run("interrupt()"))["ename"] == "KeyboardInterrupt", "the next one is heard"


def test_streams_are_whole_again_in_the_next_cell(shell):
    """F-039"""
    shell.run("import sys, os")
    for harm in ["del sys.stdout", "sys.stdout = None", "sys.stdout.close()", "sys.stderr.close()", "os.close(1)"]:
        shell.run(harm)
        rows = said(shell.run("print('out')\nprint('err', file=sys.stderr)"))
        assert rows == [("stdout", "out\n"), ("stderr", "err\n")], harm


def test_names_of_the_kernel_are_hidden_and_come_back_after_a_reset(tmp_path):
    """E-40 for this shell: helpers exist, `%who` does not list them, `%reset` keeps them."""
    one = Host(shell="ipython", prelude="full", cwd=str(tmp_path), env=dict(os.environ, HOME=str(tmp_path)))
    try:
        one.run("mine = 1")
        assert said(one.run("%who_ls")) == [("result", "['mine']")]
        assert said(one.run("bash")) == [("result", "<prelude helper bash>")]
        one.run("%reset -f")
        assert said(one.run("'mine' in globals(), bash")) == [("result", "(False, <prelude helper bash>)")]
        assert said(one.run("%who_ls")) == [("result", "[]")]
        rows = said(one.run("class Rich:\n    def _repr_html_(self): return '<b>'\ndisplay(Rich())"))
        assert rows[0][0] == "display"
    finally:
        one.close()


def test_what_cells_printed_is_there_for_the_notebook_magic(shell):
    outputs = "getattr(get_ipython().history_manager, 'outputs', None)"
    number = shell.run("print('kept')")[0][1]["count"]
    rows = said(shell.run("kept_outputs = %s\nkept_outputs is None or kept_outputs[%d][0].bundle" % (outputs, number)))
    assert rows in ([("result", "True")], [("result", "{'stream': ['kept\\n']}")])


def test_figures_are_shown_after_the_cell_that_made_them(shell):
    """With matplotlib's inline backend, which comes with IPython; even if the cell fails."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("matplotlib_inline")
    events = shell.run("import matplotlib.pyplot as plt\nplt.plot([1, 2]);\nprint('drawn')", timeout=60)
    assert [row[0] for row in said(events)] == ["stdout", "display"]
    png = next(event[1]["image/png"] for event in events if event[0] == "display")
    assert png.startswith(b"\x89PNG") and 400 < struct.unpack(">I", png[16:20])[0] <= 640
    events = shell.run("%matplotlib inline\nplt.subplots()\nnothing")
    assert [row[0] for row in said(events)] == ["display", "error"]
    assert said(shell.run("plt.rcParams['figure.dpi'], len(plt.get_fignums())")) == [("result", "(100.0, 0)")]
