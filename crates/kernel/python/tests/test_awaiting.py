"""Where code stands: interrupted while it waits, run by the shell, asked for in the cell that made it."""

import threading

import pytest
from test_runner import error


def test_an_interrupted_await_shows_where_it_waited(host):
    """B:R-21"""
    code = "import asyncio\nasync def inner(n):\n    print('go')\n    await asyncio.sleep(n)\nawait inner(60)"
    events = host.run(code, after=lambda h: threading.Timer(0.5, h.interrupt).start())
    found = error(events)
    text = "\n".join(found["plain"])
    assert found["ename"] == "KeyboardInterrupt"
    assert "----> 5 await inner(60)" in text and "in inner(n)" in text and "----> 4     await asyncio.sleep(n)" in text
    assert "selectors.py" not in text and "inkcell_runner" not in text
    # The loop lives on.
    assert host.text("await asyncio.sleep(0)\nprint('lives')") == "lives\n"


def test_code_run_by_the_shell_keeps_its_own_lines(host):
    code = (
        "ip = get_ipython()\nip.run_cell('def f():\\n    return 1/0')\nip.run_cell('x = 5\\ny = 6')\nf()"
    )
    text = "\n".join(error(host.run(code))["plain"])
    assert "----> 2     return 1/0" in text and "> 2 y = 6" not in text
    # The same text again needs no new name.
    host.run("for _ in range(5): ip.run_cell('x = 1')")
    assert host.text("print(sum('x = 1' == s for s in __import__('inkcell_runner').current().executor.sources.values()))") == "1\n"


def test_figures_of_the_shells_cells_come_where_they_were_made(host):
    pytest.importorskip("matplotlib")
    events = host.run(
        "import matplotlib.pyplot as plt\n_ = get_ipython().run_cell('plt.plot([1]);')\nprint('after')"
    )
    kinds = [event[0] for event in events if event[0] in ("display", "stream")]
    assert kinds == ["display", "stream"]


def test_source_is_shown_in_the_cell_that_made_it(host):
    assert "return 41 + 1" in host.text("def f():\n    return 41 + 1\nf??")


def test_source_is_found_by_who_imports_inspect_in_the_same_cell(host):
    code = "def f():\n    return 41 + 1\ni = __import__('ins' + 'pect')\nprint(i.getsource(f))"
    assert "return 41 + 1" in host.text(code)
