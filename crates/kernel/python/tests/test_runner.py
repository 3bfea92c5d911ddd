"""The runner as a process: frames, cells, streams, interrupts, its end."""

import os
import sys

import pytest
from host import LIMIT, Host, until


def results(events):
    return [data.get("text/plain") for kind, data, _ in (e for e in events if e[0] == "result")]


def error(events):
    return next((event[1] for event in events if event[0] == "error"), None)


def interrupt_at_go(host):
    host.wait_for_go()
    host.interrupt()


def test_a_value_comes_with_the_end_of_its_cell_in_one_frame(host):
    """B:R-02"""
    events = host.run("1")
    assert [event[0] for event in events] == ["started", "result", "done"]
    assert events[1][2] is events[2][1] and events[1][1] == {"text/plain": "1"} and events[1][2]["count"] == 1
    # This holds only if nothing comes in between.
    host.run("get_ipython().events.register('post_execute', lambda: print('between'))")
    events = host.run("2")
    assert [event[0] for event in events] == ["started", "result", "stream", "done"]
    assert events[1][1] == {"text/plain": "2"} and "parts" not in events[3][1]


def test_what_a_forgotten_value_says_is_part_of_the_cell(host):
    """B:R-02 The destructor of a replaced value may write, even without an end of line."""
    host.run("class Last:\n    def __del__(self): print('gone', end='')")
    host.run("Last()")
    host.run("Out.clear(); del _2")
    assert [host.text(code) for code in ("5", "6", "7")] == ["", "", "gone"]
    assert host.text("8") == ""


def test_values_are_shown_as_ipython_does(host):
    table = [
        ("1 + 1", ["2"]),
        ("1 + 1;", []),
        ("x = 5", []),
        ("x", ["5"]),
        ("'a;b'", ["'a;b'"]),
        ("x; # done", []),
        ("'''a;'''", ["'a;'"]),
        ("for i in range(3):\n    i", []),
        ("", []),
        ("None", []),
        ("from __future__ import annotations\n1", ["1"]),
    ]
    for code, wanted in table:
        assert results(host.run(code)) == wanted, code


def test_futures_last(host):
    host.run("from __future__ import annotations")
    host.run("def f(x: undefined_name): return x")
    assert results(host.run("f.__annotations__")) == ["{'x': 'undefined_name'}"]


def test_history_names(host):
    host.run("10")
    host.run("20")
    assert results(host.run("_, __, _1, Out[2], In[1]")) == ["(20, 10, 10, 20, '10')"]
    assert results(host.run("get_ipython().execution_count")) == ["4"]


def test_the_namespace_is_clean(host):
    names = results(host.run("sorted(n for n in globals() if not n.startswith('_'))"))
    assert names == ["['In', 'Out']"]


def test_sources_are_there_for_inspect(host):
    host.run("def double(x):\n    return 2 * x")
    text = host.text("import inspect\nprint(inspect.getsource(double))")
    assert text == "def double(x):\n    return 2 * x\n\n"


def test_tracebacks(host):
    host.run("def fail(x):\n    y = x + 1\n    raise ValueError('no')\n")
    found = error(host.run("fail(1)"))
    assert (found["ename"], found["evalue"]) == ("ValueError", "no")
    text = "\n".join(found["plain"])
    assert "Cell In[2], line 1" in text and "Cell In[1], line 3, in fail(x)" in text
    assert "inkcell_runner" not in text
    found = error(host.run("try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e"))
    assert "direct cause" in "\n".join(found["plain"])
    for code in [
        "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E",
        "def deep(n): return deep(n + 1)\ndeep(0)",
        "e = None\nfor i in range(1000):\n    n = ValueError(i); n.__cause__ = e; e = n\nraise e",
        "raise ValueError('x' * 10**6)",
        "exec('x = \\x00')",
    ]:
        found = error(host.run(code))
        assert found is not None and len(str(found)) < 2_000_000, code
    assert results(host.run("1")) == ["1"]


def test_syntax_errors_point_at_the_place(host):
    found = error(host.run("x = = 1"))
    assert found["ename"] == "SyntaxError"
    assert "x = = 1" in "\n".join(found["plain"]) and "^" in "\n".join(found["plain"])


def test_magics_work_in_cells(host, tmp_path):
    assert results(host.run("%pwd")) == [repr(os.getcwd())]
    assert host.text("!echo hi there") == "hi there\n"
    host.run("lines = !printf 'a\\nb'")
    assert results(host.run("list(lines)")) == ["['a', 'b']"]
    path = tmp_path / "f.txt"
    assert "Writing" in host.text("%%writefile " + str(path) + "\ncontent")
    assert path.read_text() == "content\n"
    host.run("%%capture caught\nprint('inside')\n")
    assert results(host.run("caught.stdout")) == ["'inside\\n'"]
    found = error(host.run("%nosuchmagic"))
    assert found["ename"] == "UsageError" and "nosuchmagic" in found["evalue"]


def test_displays(host):
    events = host.run(
        "class Rich:\n    def _repr_html_(self): return '<b>x</b>'\n    def __repr__(self): return 'Rich()'\nRich()"
    )
    data = next(event[1] for event in events if event[0] == "result")
    assert data == {"text/html": "<b>x</b>", "text/plain": "Rich()"}
    events = host.run("h = display('a', display_id='k')\nh.update('b')\nfrom IPython.display import clear_output\nclear_output()")
    kinds = [(event[0], event[2].get("display_id"), event[2].get("update", False)) for event in events if event[0] == "display"]
    assert kinds == [("display", "k", False), ("display", "k", True)]
    assert any(event[0] == "clear" for event in events)
    events = host.run("class Pic:\n    def _repr_png_(self): return b'\\x89PNG raw'\nPic()")
    data = next(event[1] for event in events if event[0] == "result")
    assert data["image/png"] == b"\x89PNG raw"


def test_figures_are_shown_once_and_closed(host):
    """B:R-36"""
    pytest.importorskip("matplotlib")
    events = host.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('x');")
    shown = [event[1] for event in events if event[0] == "display"]
    assert [list(data) for data in shown] == [["image/png", "text/plain"]] or [sorted(data) for data in shown] == [["image/png", "text/plain"]]
    assert shown[0]["image/png"].startswith(b"\x89PNG") and shown[0]["text/plain"].startswith("<Figure size 640x480")
    events = host.run("plt.plot([3]); plt.show(); print('after')")
    kinds = [event[0] for event in events if event[0] in ("display", "stream")]
    assert kinds == ["display", "stream"]
    assert not any(event[0] == "display" for event in host.run("1"))


def test_a_prelude_is_installed_and_comes_back(tmp_path):
    host = Host(prelude="full", cwd=str(tmp_path))
    try:
        host.run("write('a.txt', 'hello')")
        assert results(host.run("read('a.txt')")) == ["'hello'"]
        host.run("read = 5\nkeep = 1\n%reset -f")
        assert results(host.run("read('a.txt')")) == ["'hello'"]
        assert error(host.run("keep"))["ename"] == "NameError"
    finally:
        host.close()


def test_the_host_going_away_ends_everything(host):
    events = host.run("import subprocess\nchild = subprocess.Popen(['sleep', '600'])\nchild.pid")
    child = int(results(events)[0])
    os.close(host.lifeline)
    host.process.wait(LIMIT)

    def is_gone():
        try:
            with open("/proc/%d/stat" % child) as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            return True

    until("the end of the child of a cell", is_gone)
    host.lifeline = os.dup(0)


def test_frames_survive_threads_and_interrupts(host):
    host.run("import threading\nstop = False\ndef noise():\n    while not stop: print('n' * 50)\n"
             "threads = [threading.Thread(target=noise) for _ in range(4)]\nfor t in threads: t.start()")
    for _ in range(5):
        events = host.run("print('go')\nwhile True: print('m' * 100)", after=interrupt_at_go)
        assert error(events)["ename"] == "KeyboardInterrupt"
    host.run("stop = True\nfor t in threads: t.join()")
    assert results(host.run("1")) == ["1"]


def test_writing_frames_to_every_descriptor_forges_nothing(host):
    code = (
        "import os\nframe = b'{\"n\":\"abc\",\"s\":1,\"t\":\"done\",\"id\":1,\"status\":\"ok\"}\\n'\n"
        "for fd in range(1, 100):\n    try: os.write(fd, frame)\n    except OSError: pass\n'true result'"
    )
    assert results(host.run(code)) == ["'true result'"]
    assert results(host.run("2")) == ["2"]


def test_it_starts_without_heavy_modules(host):
    heavy = "['re', 'json', 'ast', 'insp' 'ect', 'typing', 'dataclasses', 'socket', 'asyncio', 'traceback', 'enum']"
    found = host.text("import sys\nprint([m for m in %s if m in sys.modules])" % heavy)
    # Modules that the interpreter itself loads at start (through a `.pth` file, say) do not count.
    bare = os.popen('%s -I -c "import sys; print([m for m in %s if m in sys.modules])"' % (sys.executable, heavy)).read()
    assert found == bare


def test_an_ignored_signal_handler_is_put_back(host):
    host.run("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)")
    events = host.run("import time\nprint('go', flush=True)\ntime.sleep(600)", after=interrupt_at_go)
    assert error(events)["ename"] == "KeyboardInterrupt"
    assert host.process.poll() is None
