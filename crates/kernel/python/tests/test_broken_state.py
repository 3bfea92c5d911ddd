"""Cells that remove things the runner needs: an error stays an error, and a result is shown."""

import os
import socket
import time

import pytest
from host import Host, until
from test_runner import error, results

# Each leaves a process that can hardly open or import anything.
BROKEN = [
    "fs = []\ntry:\n    while True: fs.append(open('/dev/null'))\nexcept OSError: pass",
    "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    "import sys\nsys.meta_path.clear()",
    "import sys\nsys.modules.clear()",
    "import sys\nsys.modules = None",
    "import sys\nsys.path_importer_cache.clear(); sys.path.clear(); sys.path_hooks.clear()",
    "import builtins\nbuiltins.__import__ = None",
    "import builtins\nbuiltins.open = builtins.print = None",
]
if os.getuid() == 0:
    BROKEN.append("import os\nos.chroot('/dev')")


@pytest.mark.parametrize("code", BROKEN)
def test_an_error_is_reported_whatever_is_gone(host, code):
    """F-043"""
    events = host.run(code + "\n1/0")
    found = error(events)
    assert (found["ename"], found["evalue"]) == ("ZeroDivisionError", "division by zero")
    assert "1/0" in "\n".join(found["plain"])
    assert events[-1][1]["status"] == "error"


@pytest.mark.parametrize("code", BROKEN)
def test_a_result_is_shown_or_its_loss_is_an_error(host, code):
    """F-042"""
    events = host.run(code + "\n[1, 2]")
    assert results(events) == ["[1, 2]"] or events[-1][1]["status"] == "error"


def test_a_stream_that_fails_at_the_end_is_an_error(host):
    code = "import sys\nclass S:\n    def write(self, t): pass\n    def flush(self): raise SystemExit(4)\nsys.stdout = S()"
    assert error(host.run(code))["ename"] == "SystemExit"
    assert results(host.run("1")) == ["1"]


def test_a_stream_that_was_closed_says_so_and_the_next_cell_has_another(host):
    """F-039"""
    code = "import sys\nout = sys.stdout\nprint('before')\nout.%s()\nout.closed%s"
    assert results(host.run(code % ("close", ", out.buffer.closed"))) == ["(True, True)"]
    assert error(host.run("out.write('x')"))["ename"] == "ValueError"
    assert host.text("print('after')") == "after\n"
    assert results(host.run(code % ("buffer.close", ""))) == ["True"]
    assert host.text("print('after')") == "after\n"


@pytest.mark.parametrize("flusher", ["streams", "session"])
def test_a_stream_that_was_closed_during_a_flush_of_another_thread_is_another_in_the_next_cell(host, tmp_path, flusher):
    """F-039 The thread found the stream intact, and finishes its flush after the cell. It is the runner's own
    thread, or a thread of the user that displays something."""
    code = """
import os, sys, threading, time
session = get_ipython().session
streams, begun = session.streams, threading.Event()
err = streams.stderr
def late():
    del err.flush
    begun.set()
    while session.running is not None: time.sleep(0.001)
def flush():
    %s.flush()
    open(%r, "w").close()
err.flush = late
threading.Thread(target=flush).start()
begun.wait()
sys.stdout.buffer.close();
"""
    over = tmp_path / "over"
    host.run(code % (flusher, str(over)))
    until("the end of the flush", over.exists)
    assert host.text("print('after')") == "after\n"


@pytest.mark.parametrize("what", ["sys.stdout.buffer.raw.close()", "sys.stderr.detach()", "sys.stdout.buffer.detach()"])
def test_a_stream_that_broke_after_a_flush_is_another_in_the_next_cell(host, what):
    """F-039 A stream that was intact at an earlier flush may be broken now."""
    host.run("import sys\nprint('a', end='')\nget_ipython().session.flush()\n%s;" % what)
    assert host.text("print('out')\nprint('err', file=sys.stderr)") == "out\nerr\n"


def test_descriptors_whose_copies_a_cell_closed_are_left_alone(host):
    """F-039 A cell may close the runner's copies, and the user's files may get their numbers."""
    host.run("import os\nos.closerange(3, 100)\nfiles = [open(os.devnull, 'w') for _ in range(50)]")
    assert host.text("_ = os.system('echo still there')") == "still there\n"


@pytest.mark.parametrize("way", ["os.close(%d)", "os.dup2(os.open(os.devnull, os.O_RDWR), %d)", "os.dup2(0, %d)"])
@pytest.mark.parametrize("query", ["", "get_ipython().session.descriptors._query = None\n"])
def test_descriptors_that_a_cell_moved_are_back_in_the_next(host, way, query):
    """F-039 The same holds if the system cannot tell whether two descriptors are copies of each other."""
    for fd in (1, 2):
        host.run("import os\n" + query + way % fd)
        assert host.text("_ = os.system('echo here >&%d')" % fd) == "here\n"
    host.run("os.close(0)")
    assert host.text("_ = os.system('cat; echo end')") == "end\n"


class _LateHost(Host):
    """A host that looks at its socket before a cell writes to the pipes, and reads after the cell has ended."""

    def _fill(self, deadline):
        super()._fill(deadline)
        while b'"t":"done"' not in self.socket.recv(1 << 20, socket.MSG_PEEK):
            assert time.monotonic() < deadline
        return [self.socket]


def test_host_that_reads_late_gets_what_a_child_wrote_before_the_end():
    """F-039 The end of a cell and the output of its children arrive through different channels."""
    host = Host()
    try:
        host.run("import os")
        host.__class__ = _LateHost
        assert host.text("_ = os.system('echo out; echo err >&2')") == "out\nerr\n"
    finally:
        host.close()


def test_the_folder_does_not_stand_in_front_of_the_runners_imports(tmp_path):
    for name in "json ast types token tokenize io re linecache traceback inspect functools gc atexit colorsys".split():
        (tmp_path / (name + ".py")).write_text("raise RuntimeError('not this one')\n")
    host = Host(cwd=str(tmp_path))
    try:
        text = "\n".join(error(host.run("def f():\n    return 1/0\nf()"))["plain"])
        assert "ZeroDivisionError" in text and "----> 2     return 1/0" in text and "laid out" not in text
        assert results(host.run("{'a': [1]}")) == ["{'a': [1]}"]
        assert host.text("!echo hi") == "hi\n"
        # The user's own imports find the files there.
        assert error(host.run("import colorsys"))["evalue"] == "not this one"
    finally:
        host.close()


def test_reloading_finds_the_users_module(tmp_path):
    (tmp_path / "this.py").write_text("n = 1\n")
    host = Host(cwd=str(tmp_path))
    try:
        host.run("import this, importlib\n%load_ext autoreload\n%autoreload 2")
        (tmp_path / "this.py").write_text("n = 22222\n")
        assert results(host.run("importlib.reload(this).n")) == ["22222"]
        assert results(host.run("this.n")) == ["22222"]
    finally:
        host.close()
