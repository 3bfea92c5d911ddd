"""Cells that await, code run by the shell, and source shown in the cell that defines it."""

import pytest
from test_runner import error, interrupt_at_go


def test_an_interrupted_await_shows_where_it_waited(host):
    """B:R-21"""
    # The loop prints the word while the task waits.
    go = "asyncio.get_running_loop().call_soon(lambda: print('go', flush=True))"
    code = "import asyncio\nasync def inner(n):\n    %s\n    await asyncio.sleep(n)\nawait inner(60)" % go
    events = host.run(code, after=interrupt_at_go)
    found = error(events)
    text = "\n".join(found["plain"])
    assert found["ename"] == "KeyboardInterrupt"
    assert "----> 5 await inner(60)" in text and "in inner(n)" in text and "----> 4     await asyncio.sleep(n)" in text
    assert "selectors.py" not in text and "inkcell_runner" not in text
    # The loop still works.
    assert host.text("await asyncio.sleep(0)\nprint('lives')") == "lives\n"


def test_all_of_a_cell_that_awaits_runs_on_the_loop(host):
    """B:R-32"""
    host.run("import asyncio\nasync def double(n):\n    return n * 2")
    events = host.run("task = asyncio.create_task(double(4))\nasync def other(): pass\nawait task")
    assert [event[1] for event in events if event[0] == "result"] == [{"text/plain": "8"}]
    events = host.run("running = asyncio.get_running_loop()\nawait asyncio.wait_for(asyncio.sleep(5), 0.01)")
    text = "\n".join(error(events)["plain"])
    assert "in sleep(" in text and "run_until_complete" not in text and "inkcell_runner" not in text


def test_there_is_a_loop_also_after_one_of_the_users_own(host):
    """B:R-32"""
    code = "import asyncio\nasync def one(): return 1\nasyncio.run(one())"
    assert host.run(code)[-1][1]["status"] == "ok"
    assert host.text("print(asyncio.get_event_loop().run_until_complete(one()))") == "1\n"
    host.run("mine = asyncio.new_event_loop()\nasyncio.set_event_loop(mine)")
    assert host.text("print(asyncio.get_event_loop() is mine)") == "True\n"


def test_a_timed_await_shows_its_value_once(host):
    events = host.run("import asyncio\nasync def two(): return 2")
    events = host.run("%time await two()")
    assert [event[0] for event in events if event[0] in ("display", "result") and "text/plain" in event[1]] == ["result"]


def test_code_run_by_the_shell_keeps_its_own_lines(host):
    code = (
        "ip = get_ipython()\nip.run_cell('def f():\\n    return 1/0')\nip.run_cell('x = 5\\ny = 6')\nf()"
    )
    text = "\n".join(error(host.run(code))["plain"])
    assert "----> 2     return 1/0" in text and "> 2 y = 6" not in text
    # The same text again does not need a new name.
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
