"""The threads that prevent a process from being copied, and those that do not."""

import os
import subprocess
import sys
import textwrap

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

PYTHON_THREAD = """
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
"""

# A thread unknown to Python: it runs the C library's own `pause`.
NATIVE_THREAD = """
import ctypes
libc = ctypes.CDLL(None)
handle = ctypes.c_ulong()
start = ctypes.cast(libc.pause, ctypes.c_void_p)
assert libc.pthread_create(ctypes.byref(handle), None, start, None) == 0
"""

# The runner recognizes the file of a library only by its name; any mapping works.
POOL = """
import mmap, os
path = os.path.join(os.path.dirname(__file__), "libopenblas_fake.so")
with open(path, "wb") as file:
    file.write(bytes(4096))
with open(path, "rb") as file:
    kept = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
"""

# Only code, as long as no program uses it.
GPU_LIBRARY = POOL.replace("libopenblas_fake.so", "libcuda.so.1")

# A descriptor whose link names a device.
GPU_DEVICE = """
import os
kept, read = open(os.devnull), os.readlink
def readlink(path, *rest, **more):
    return "/dev/%s" if path == "/proc/self/fd/%%d" %% kept.fileno() else read(path, *rest, **more)
os.readlink = readlink
"""


USED = "importing card began to use a GPU in the fork server (/dev/%s)"


def answer(tmp_path, modules, after="", cpus=2):
    """The answer of a process that has imported these modules and then run this code."""
    for name, text in modules.items():
        (tmp_path / (name + ".py")).write_text(textwrap.dedent(text))
    script = """
        import os, sys
        sys.path[:0] = [{root!r}, {folder!r}]
        os.cpu_count = lambda: {cpus}
        from inkcell_runner.threads import ThreadWatch
        from inkcell_runner.preload import warm_up
        watch = ThreadWatch()
        assert warm_up("lite", {names!r}, watch.note) == {{}}
    """
    script = script.format(root=ROOT, folder=str(tmp_path), names=list(modules), cpus=cpus)
    script = textwrap.dedent(script) + textwrap.dedent(after) + "\nprint(watch.why_not_fork(), flush=True)\nos._exit(0)\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "modules, wanted",
    [
        ({"plain": ""}, "None"),
        ({"py": PYTHON_THREAD}, "importing py left 1 thread running in the fork server"),
        ({"c": NATIVE_THREAD}, "importing c left 1 thread running in the fork server"),
        ({"c": NATIVE_THREAD * 2}, "importing c left 2 threads running in the fork server"),
        ({"blas": POOL + NATIVE_THREAD}, "None"),
        # More threads than the pool can have on this machine.
        ({"blas": POOL + NATIVE_THREAD * 2}, "importing blas left 1 thread running in the fork server"),
        # A thread of Python does not belong to a pool.
        ({"blas": POOL + PYTHON_THREAD}, "importing blas left 1 thread running in the fork server"),
        # A pool excuses only the threads of its own import.
        ({"blas": POOL, "c": NATIVE_THREAD}, "importing c left 1 thread running in the fork server"),
        ({"c": NATIVE_THREAD, "blas": POOL}, "importing c left 1 thread running in the fork server"),
        ({"gpu": GPU_LIBRARY, "plain": ""}, "None"),
        ({"gpu": GPU_LIBRARY, "card": GPU_DEVICE % "nvidiactl", "plain": ""}, USED % "nvidiactl"),
        ({"card": GPU_DEVICE % "nvidia0"}, USED % "nvidia0"),
        ({"card": GPU_DEVICE % "kfd"}, USED % "kfd"),
        ({"card": GPU_DEVICE % "dri/renderD128"}, USED % "dri/renderD128"),
        ({"card": GPU_DEVICE % "shm/x"}, "None"),
        # A closed device does not count.
        ({"card": GPU_DEVICE % "nvidia0", "plain": "import card, os\nos.readlink = card.read"}, "None"),
    ],
)
def test_threads_are_laid_at_the_door_of_a_module(tmp_path, modules, wanted):
    """Issue 21, 22: an open device prevents a process from being copied; the library of a GPU does not."""
    assert answer(tmp_path, modules) == wanted


# A copy that waited for the threads of its original would do so for ever.
COMPUTE_IN_COPY = """
import signal
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    os._exit(sys.modules["parallel"].add(100) % 256)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5050 % 256
"""


def test_openmp_computes_in_copies_of_a_fork_server(tmp_path, openmp):
    """Issue 25, 1: its threads end after the import that started them, and begin again in the copy."""
    module = "import ctypes\nadd = ctypes.CDLL(%r).add\nassert add(100) == 5050" % str(openmp / "libadd.so")
    assert answer(tmp_path, {"parallel": module}, COMPUTE_IN_COPY) == "None"


def test_threads_that_come_later_are_seen(tmp_path):
    wanted = "1 thread runs in the fork server that no import started"
    assert answer(tmp_path, {"plain": ""}, NATIVE_THREAD) == wanted
    assert answer(tmp_path, {"plain": ""}, PYTHON_THREAD) == wanted


def test_one_processor_has_no_pool(tmp_path):
    wanted = "importing blas left 1 thread running in the fork server"
    assert answer(tmp_path, {"blas": POOL + NATIVE_THREAD}, cpus=1) == wanted


def test_numpy_can_be_copied_and_computes_on_all_processors_in_the_copy(tmp_path):
    """Its pool starts again in the copy."""
    pytest.importorskip("numpy")
    script = """
        import os, sys, threading
        sys.path.insert(0, {root!r})
        from inkcell_runner.threads import ThreadWatch
        from inkcell_runner.preload import warm_up
        watch = ThreadWatch()
        assert warm_up("lite", ["numpy"], watch.note) == {{}}
        assert watch.why_not_fork() is None, watch.why_not_fork()
        before = len(os.listdir("/proc/self/task"))
        pid = os.fork()
        if pid == 0:
            import numpy
            assert len(os.listdir("/proc/self/task")) == 1
            most, done = [], threading.Event()
            def look():
                while not done.is_set():
                    most.append(len(os.listdir("/proc/self/task")))
            looker = threading.Thread(target=look)
            looker.start()
            a = numpy.ones((2000, 2000))
            assert (a @ a)[0, 0] == 2000
            done.set()
            looker.join()
            # The looker is one more than the pool.
            assert max(most) >= before + 1, (max(most), before)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        os._exit(0)
    """
    script = textwrap.dedent(script.format(root=ROOT))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
