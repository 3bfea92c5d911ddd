"""Finds what imports leave behind that a copy of the process cannot have: threads, and a GPU in use.

Owns the checks.  A copy has only the thread that made it.  The pools of numerical libraries are idle
between computations and start anew in a copy, so their threads may be missing there; any other thread may
have held a lock or done work that nobody goes on with.  Only the process that opened a GPU can use it; a GPU library
that is merely in memory is code like any other.
"""

import os
from _thread import _count

# Libraries with such a pool, by a part of their file's name.
_POOLS = ("openblas", "libmkl", "libgomp", "libiomp", "libomp", "libblis")

# Devices that are open if a GPU is in use: NVIDIA's, the same under Windows, AMD's, and those
# of the system's own drivers.
_DEVICES = ("/dev/nvidia", "/dev/dxg", "/dev/kfd", "/dev/dri/render")


def _running():
    """How many threads this process has, or None where that cannot be known."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return None


def _maps():
    try:
        with open("/proc/self/maps") as maps:
            return maps.read()
    except OSError:
        return ""


def _pools_mapped(text):
    """The files in memory that are libraries with a pool."""
    if not any(part in text for part in _POOLS):
        return set()
    paths = {line[line.find("/") :] for line in text.splitlines() if "/" in line}
    return {path for path in paths if any(part in os.path.basename(path) for part in _POOLS)}


def open_files():
    """The numbers of what is open, with what each is; None where that cannot be known."""
    found = {}
    try:
        for name in os.listdir("/proc/self/fd"):
            try:
                found[int(name)] = os.readlink("/proc/self/fd/" + name)
            except OSError:
                # The one that listed them.
                pass
    except OSError:
        return None
    return found


def _has_begun(maps):
    """Whether NVIDIA's driver has begun its work here. It says so itself, and asking does not begin it."""
    driver = next((line[line.find("/") :] for line in maps.splitlines() if "/libcuda.so" in line), None)
    if driver is None:
        return False
    try:
        import ctypes

        driver = ctypes.CDLL(driver, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        return driver.cuCtxGetCurrent(ctypes.byref(ctypes.c_void_p())) == 0
    except (ImportError, OSError, AttributeError):
        return False


def gpu_in_use(files, maps):
    """The sign that this process uses a GPU, or None: a device among the open files, else the driver in memory."""
    for target in sorted((files or {}).values()):
        if target.startswith(_DEVICES):
            return target
    return "NVIDIA's driver" if _has_begun(maps) else None


class ThreadWatch:
    """Checks from its creation on, import by import."""

    def __init__(self):
        self._known = _running()
        self._python = _count()
        self._pools = _pools_mapped(_maps())
        self._pooled = 0
        # The first import that left a thread of another kind, with the number of them.
        self._stranger = None
        # The first import after which a GPU was in use, and by what, as long as it is.
        self._gpu = None

    def note(self, module):
        """Is told after each import, so that a thread can be laid at the door of a module."""
        text = _maps()
        running, python, pools = _running(), _count(), _pools_mapped(text)
        gpu = gpu_in_use(open_files(), text)
        self._gpu = None if gpu is None else self._gpu or (module, gpu)
        if running is None or self._known is None:
            return
        # Threads of Python are never those of a pool.
        native = (running - python) - (self._known - self._python)
        room = len(pools - self._pools) * ((os.cpu_count() or 1) - 1)
        of_pools = max(0, min(native, room))
        others = running - self._known - of_pools
        if others > 0 and self._stranger is None:
            self._stranger = (module, others)
        self._pooled += of_pools
        self._known, self._python, self._pools = running, python, pools

    def why_not_fork(self):
        """Why a copy would not be sound now, or None. What is open was looked at after each import."""
        running = _running()
        if running is None:
            return "threads cannot be counted here"
        if running > 1:
            if self._stranger is not None:
                return "importing %s left %d thread%s running in the fork server" % (
                    *self._stranger,
                    "" if self._stranger[1] == 1 else "s",
                )
            later = running - 1 - self._pooled
            if later > 0:
                verb = "thread runs" if later == 1 else "threads run"
                return "%d %s in the fork server that no import started" % (later, verb)
            if _count() > 0:
                return "%d Python threads run in the fork server" % _count()
        if self._gpu is not None:
            return "importing %s began to use a GPU in the fork server (%s)" % self._gpu
        return None
