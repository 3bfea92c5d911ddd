"""Which threads imports leave behind, and whether a process with them can be copied.

Owns the counting.  A copy has only the thread that made it.  The pools of numerical libraries are idle
between computations and start anew in a copy, so their threads may be missing there; any other thread may
have held a lock or done work that nobody goes on with.
"""

import os
from _thread import _count

# Libraries with such a pool, by a part of their file's name.
_POOLS = ("openblas", "libmkl", "libgomp", "libiomp", "libomp", "libblis")
_GPU = ("libcuda.so", "libamdhip64.so")


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


class ThreadWatch:
    """Counts threads from its making on, import by import."""

    def __init__(self):
        self._known = _running()
        self._python = _count()
        self._pools = _pools_mapped(_maps())
        self._pooled = 0
        # The first import that left a thread of another kind, with the number of them.
        self._stranger = None
        # The first import that loaded the library of a GPU.
        self._gpu = None

    def note(self, module):
        """Is told after each import, so that a thread can be laid at the door of a module."""
        text = _maps()
        running, python, pools = _running(), _count(), _pools_mapped(text)
        if self._gpu is None and any(part in text for part in _GPU):
            self._gpu = module
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
        """Why a copy would not be sound now, or None. What is in memory was looked at after each import."""
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
            return "importing %s loaded a GPU library in the fork server" % self._gpu
        return None
