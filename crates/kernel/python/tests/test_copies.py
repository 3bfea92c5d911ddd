"""Which kernels can be copied after their cells have run, and that the copies compute. Issue 25, 1."""

import os
import subprocess
import sys

import pytest
from host import Host

# A thread that Python knows nothing of, with a name.
NAMED_THREAD = """
import ctypes
libc = ctypes.CDLL(None)
def start(name):
    handle = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(handle), None, ctypes.cast(libc.pause, ctypes.c_void_p), None) == 0
    assert libc.pthread_setname_np(handle, name) == 0
"""

# Why no copy would be sound, in the midst of a cell.
WHY_NOT = "import inkcell_runner.copies\ninkcell_runner.copies.why_not(inkcell_runner._current, -1)"


def value(host, code):
    """The value of an expression after a cell that has to end well."""
    events = host.run(code)
    assert events[-1][1]["status"] == "ok", events
    return next(event[1]["text/plain"] for event in events if event[0] == "result")


def refusal(host):
    copies = host.copies()
    copies.close()
    return copies.refused


def compute_in_copies(host, code, wanted):
    """Two copies of a kernel give what is wanted, at once; a copy without its threads would wait for ever."""
    copies = host.copies()
    try:
        assert copies.refused is None
        for one in [copies.copy(), copies.copy()]:
            try:
                assert value(one, code) == wanted
            finally:
                one.close()
    finally:
        copies.close()


@pytest.mark.parametrize("name", ["jemalloc_bg_thd"])
def test_threads_known_to_be_harmless_are_let_pass(host, name):
    host.run(NAMED_THREAD + "start(%r)" % name.encode())
    compute_in_copies(host, "import os\nlen(os.listdir('/proc/self/task'))", "3")


def test_other_threads_are_named(host):
    """Whatever the number of threads that libraries may have: a name tells that it is none of theirs."""
    host.run("import inkcell_runner.threads as threads\nthreads._POOLS['libc.so'] = 100")
    host.run(NAMED_THREAD + "start(b'stranger-1'); start(b'stranger-0'); start(b'stranger-0')")
    assert refusal(host) == "the cells left 3 threads running that are not Python's (stranger-0, stranger-1)"


def test_thread_without_a_name_is_told(host):
    host.run(NAMED_THREAD + "start(open('/proc/self/comm', 'rb').read().strip())")
    assert refusal(host) == "the cells left 1 thread running that is not Python's"


def test_process_with_another_name_is_copied(host):
    """Threads that were there before have the old one."""
    host.run("with open('/proc/self/comm', 'w') as file: file.write('renamed')")
    compute_in_copies(host, "open('/proc/self/comm').read()", "'renamed\\n'")


def test_refusal_costs_little(host):
    """Also one that looks again for threads that are about to end: it reads the memory map once, and waits for less than
    20 ms altogether."""
    host.run(NAMED_THREAD + "start(b'stranger')")
    host.run(
        "import inkcell_runner.threads as threads, time\nreal, reads, slept = threads._read_map, [], []\n"
        "threads._read_map = lambda: reads.append(1) or real()\n"
        "class Clock:\n    sleep = staticmethod(slept.append)\nimport inkcell_runner.copies as copies\ncopies.time = Clock"
    )
    assert value(host, WHY_NOT) == '"the cells left 1 thread running that is not Python\'s (stranger)"'
    assert value(host, "len(reads), 0 < sum(slept) < 0.02") == "(1, True)"
    # The first look has read the map after the imports of the tests.
    value(host, WHY_NOT)
    for code, more in [("1", "0"), ("import sys\nsys.modules['another'] = sys", "1"), ("1", "0")]:
        host.run("reads.clear()\n" + code)
        value(host, WHY_NOT)
        assert value(host, "len(reads)") == more

def test_copying_waits_for_nothing(host):
    """The thread that writes output out is kept from it for the moment of the fork alone, whatever it has to do."""
    host.run("import inkcell_runner.copies as copies\ncopies.time = None\nfor i in range(1000): print(i)")
    compute_in_copies(host, "print('said') or 1", "1")


LOAD = "import ctypes, os\nadd = ctypes.CDLL('./libadd.so').add\nadd(100), len(os.listdir('/proc/self/task')) >= 6"


@pytest.mark.parametrize("module, is_copied", [("torch.library", True), ("shutil", False), (None, False)])
def test_what_ends_with_the_process_is_judged_by_its_module(host, module, is_copied):
    code = "import weakref\ndef end(): pass\nend.__module__ = %r\nkept = weakref.finalize(weakref, end)" % module
    host.run(code)
    reason = refusal(host)
    assert reason is None if is_copied else "removed when the process ends" in reason


def test_openmp_computes_in_copies(openmp):
    """Its threads end before the fork, and begin again in the copies."""
    host = Host(cwd=str(openmp))
    try:
        assert value(host, LOAD) == "(5050, True)"
        code = "add(100), len(os.listdir('/proc/self/task')) >= 6"
        compute_in_copies(host, code, "(5050, True)")
        assert value(host, code) == "(5050, True)"
    finally:
        host.close()


def test_openmp_that_keeps_its_threads_is_told(openmp):
    host = Host(cwd=str(openmp))
    try:
        assert value(host, LOAD) == "(5050, True)"
        host.run("import inkcell_runner.threads as threads\nthreads._end_pool = lambda path: False")
        assert refusal(host) == "the cells left threads of libgomp running, which cannot be copied"
    finally:
        host.close()


def test_loop_is_the_same_and_works_in_copies(host):
    """With a selector and sockets of its own: what a copy waits for, the original does not hear of."""
    value(host, "import asyncio\nloop = asyncio.get_event_loop()\nawait asyncio.sleep(0.001, 1)")
    code = (
        "asyncio.get_event_loop() is loop, await asyncio.sleep(0.001, 2), "
        "await asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(asyncio.sleep(0, 3), loop).result())"
    )
    compute_in_copies(host, code, "(True, 2, 3)")
    assert value(host, code) == "(True, 2, 3)"


@pytest.mark.parametrize(
    "code, reason, undo",
    [
        ("task = asyncio.ensure_future(asyncio.sleep(600))", "1 task unfinished", "task.cancel()"),
        (
            "loop.add_signal_handler(signal.SIGUSR1, print)",
            "have the event loop wait for a file or a signal",
            "loop.remove_signal_handler(signal.SIGUSR1)",
        ),
        ("other = asyncio.new_event_loop()", "another event loop open", "other.close()"),
    ],
)
def test_what_a_loop_waits_for_is_told(host, code, reason, undo):
    host.run("import asyncio, signal\nloop = asyncio.get_event_loop()\n" + code)
    assert reason in value(host, WHY_NOT)
    host.run(undo + "\nawait asyncio.sleep(0)")
    compute_in_copies(host, "await asyncio.sleep(0, 1)", "1")


LIBRARIES = {
    "pyarrow": (
        "import io, pandas as pd\nfile = io.BytesIO()\nframe = pd.DataFrame({'a': range(100_000)})\n"
        "frame['b'] = frame['a'].astype(str)\nframe.to_parquet(file)\nlen(pd.read_parquet(file))",
        "100000",
        "written = io.BytesIO()\nframe.to_parquet(written)\nread = pd.read_parquet(written)\n"
        "len(read), int(read['b'].str.len().sum()), frame['a'].to_numpy().astype(float) @ frame['a'].to_numpy() > 0",
        "(100000, 488890, np.True_)",
    ),
    "sklearn": (
        "import numpy as np\nfrom sklearn.ensemble import HistGradientBoostingClassifier\n"
        "x = np.arange(4000.0).reshape(1000, 4)\ny = np.arange(1000) % 2 == 0\n"
        "model = HistGradientBoostingClassifier(max_iter=3).fit(x, y)\nlen(model.predict(x))",
        "1000",
        "len(HistGradientBoostingClassifier(max_iter=3).fit(x, y).predict(x))",
        "1000",
    ),
    "numexpr": (
        "import numexpr, numpy as np\na = np.ones(1_000_000)\nnumexpr.evaluate('a + a').sum()",
        "np.float64(2000000.0)",
        "numexpr.evaluate('a + a').sum()",
        "np.float64(2000000.0)",
    ),
    "torch": (
        "import torch\na = torch.ones(1000, 1000)\nfloat((a @ a + a.exp()).sum() > 0)",
        "1.0",
        "float((a @ a + a.exp()).sum() > 0), torch.get_num_threads() > 0",
        "(1.0, True)",
    ),
}


def _python_with(library):
    """The interpreter of these tests or the one for large libraries, whichever has this one; or None."""
    for python in (sys.executable, os.environ.get("INKCELL_TEST_LIBRARIES_PYTHON")):
        find = "import sys, importlib.util as u; sys.exit(u.find_spec(%r) is None)" % library
        if python and subprocess.run([python, "-c", find]).returncode == 0:
            return python
    return None


@pytest.mark.parametrize("library", LIBRARIES)
def test_library_computes_in_copies(library):
    python = _python_with(library)
    if python is None:
        pytest.skip("no %s: whether it works in copies is NOT tried" % library)
    first, wanted_first, then, wanted = LIBRARIES[library]
    host = Host(python=python)
    try:
        assert value(host, first) == wanted_first
        compute_in_copies(host, then, wanted)
    finally:
        host.close()
