"""The end of a runner does what the end of a program does."""

import os
import signal

import pytest
from host import Host, until

CELLS = [
    # A file that no code closed, with and without a name.
    ("w = __import__('csv').writer(open('out', 'w'))\n_ = w.writerows([[1, 2], [3, 4]])", "out", b"1,2\r\n3,4\r\n"),
    ("f = open('out', 'w')\n_ = f.write('x' * 10)", "out", b"x" * 10),
    ("f = open('out', 'wb')\n_ = f.write(b'y' * 10)", "out", b"y" * 10),
    # If a thread still uses the names, they stay, and the file is written all the same.
    (
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "f = open('out', 'w')\n_ = f.write('kept')",
        "out",
        b"kept",
    ),
    ("import types\nm = types.ModuleType('m')\nm.me = m\nm.f = open('out', 'w')\n_ = m.f.write('cycle')", "out", b"cycle"),
]


@pytest.mark.parametrize("code, name, wanted", CELLS)
def test_open_files_are_written(tmp_path, code, name, wanted):
    host = Host(cwd=str(tmp_path))
    host.run(code)
    host.end()
    host.close()
    assert (tmp_path / name).read_bytes() == wanted


@pytest.mark.parametrize(
    "code, wanted",
    [
        ("import atexit\nf = atexit.register(print, 'bye', end='');", "bye"),
        ("class D:\n    def __del__(self): print('deleted')\nd = D()", "deleted\n"),
        ("class D:\n    def __del__(self): print('deleted')\nd = D(); d.me = d", "deleted\n"),
        ("import atexit\natexit.register(lambda: 1/0)\natexit.register(print, 'first');", "first\n"),
        (
            "import threading\ngo = threading.Event()\ndef f():\n    go.wait(); print('thread')\n"
            "threading.Thread(target=f).start()\nthreading.Timer(0.3, go.set).start()",
            "thread\n",
        ),
        (
            "import time\nfrom concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n"
            "_ = pool.submit(lambda: (time.sleep(0.2), print('pooled')))",
            "pooled\n",
        ),
        ("import ctypes, atexit\nprintf = ctypes.CDLL(None).printf\n_ = atexit.register(printf, b'from C')", "from C"),
    ],
)
def test_what_is_said_at_the_end_arrives(host, code, wanted):
    host.run(code)
    assert host.end().startswith(wanted)


def test_a_thread_that_does_not_end_is_named_and_costs_no_data(tmp_path):
    def lose_patience(host):
        # The runner writes the file before the wait begins; the host's patience ends after that.
        def is_written():
            assert host.process.poll() is None
            return (tmp_path / "out").read_text() == "kept"

        until("the file", is_written)
        os.killpg(host.process.pid, signal.SIGTERM)

    host = Host(cwd=str(tmp_path))
    host.run(
        "import threading, atexit\nthreading.Thread(target=threading.Event().wait, name='stuck').start()\n"
        "f = open('out', 'w')\n_ = f.write('kept')\n_ = atexit.register(print, 'bye')"
    )
    said = host.end(after=lose_patience)
    host.close()
    assert "stuck" in said and "bye" in said


def test_what_c_wrote_in_the_first_cell_is_there(host):
    """F-045"""
    assert host.text("import ctypes\n_ = ctypes.CDLL(None).printf(b'x from C\\n')") == "x from C\n"


def test_a_simple_cell_loads_no_c_library_for_its_flush():
    host = Host()
    host.run("1 + 1")
    assert host.text("import sys\nprint(sys.modules['inkcell_runner.session']._flush_all)") == "None\n"
    host.close()
