"""Finds the things that a copy of this process would lack: threads, a GPU in use, shared memory.

Owns the checks, for the fork server and for kernels alike.  A copy has only the thread that made it.  No thread there
continues the work of the others or releases their locks, so every thread needs a reason why it may be missing.  A
thread with a name is judged by its name.  The others must belong to idle pools of numerical libraries, and there may be
as many as these libraries have.  Only the process that opened a GPU can use it.  A GPU library in memory is mere code.
"""

import os
import sys
from _thread import _count

# System names of threads that may be missing in a copy.
_HARMLESS = (
    # The thread of jemalloc, which pyarrow contains. It returns unused memory. jemalloc takes its locks before a fork
    # and works without the thread in the child.
    "jemalloc_bg_thd",
)

# Libraries that start their pool again in a copy: a part of the name or path of their file, and the number of threads beyond
# one for each processor. OpenBLAS and BLIS end their pools before a fork. The OpenMP of Intel and LLVM forgets its pool
# in the child. So do numexpr, which pandas imports, and Arrow, which has eight more threads that read and write files.
_POOLS = {
    "openblas": -1,
    "libblis": -1,
    "libmkl": -1,
    "libiomp": -1,
    "libomp": -1,
    "numexpr/interpreter": 0,
    "libarrow.so": 8,
}

# In a copy, the OpenMP of GNU would wait for ever for the threads it had. It can end them before the fork.
_GNU_OPENMP = "libgomp"

# Devices that are open if a GPU is in use: those of NVIDIA, of NVIDIA under Windows, of AMD, and of the drivers of the
# system.
_DEVICES = ("/dev/nvidia", "/dev/dxg", "/dev/kfd", "/dev/dri/render")

# The system's flag of a thread that is ending.
_EXITING = 4


def count_threads():
    """Returns the number of threads of this process, or None where the system does not tell."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return None


def thread_name(number):
    """Returns the system's name of a thread, or None if the thread has ended or is ending."""
    try:
        file = os.open("/proc/self/task/%d/stat" % number, os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = os.read(file, 1024)
        finally:
            os.close(file)
    except OSError:
        return None
    # The name is in parentheses, and may contain parentheses.
    end = text.rfind(b")")
    if int(text[end + 2 :].split()[6]) & _EXITING:
        return None
    return text[text.find(b"(") + 1 : end].decode("utf-8", "replace")


def open_files():
    """Returns the targets of all open descriptors by number, or None where the system does not tell."""
    found = {}
    try:
        for name in os.listdir("/proc/self/fd"):
            try:
                found[int(name)] = os.readlink("/proc/self/fd/" + name)
            except OSError:
                # This descriptor listed the others and is closed by now.
                pass
    except OSError:
        return None
    return found


def gpu_in_use(files):
    """Returns the first device of a GPU among the open files, or None."""
    return next((target for target in sorted((files or {}).values()) if target.startswith(_DEVICES)), None)


def _read_map():
    try:
        with open("/proc/self/maps") as maps:
            return maps.read()
    except OSError:
        return ""


class MemoryMap:
    """Facts from the memory map of this process. Reading the map takes milliseconds, and many on a busy machine, so it
    is read again only after modules or threads were added."""

    def __init__(self):
        self._seen = None
        # True if the process has writable memory that a fork does not copy.
        self.is_shared = False
        # The largest number of threads that idle pools may have.
        self.room = 0
        # The files of GNU OpenMP.
        self.gnu_openmp = ()

    def look(self, threads):
        pid, modules = os.getpid(), len(sys.modules)
        if self._seen is not None and self._seen[0] == pid and modules <= self._seen[1] and threads <= self._seen[2]:
            return
        self._seen = (pid, modules, threads)
        lines = _read_map().splitlines()
        self.is_shared = any(map(_is_shared, lines))
        paths = {line[line.find("/") :] for line in lines if "/" in line}
        files = [(path, os.path.basename(path)) for path in paths]
        pools = [more for path, file in files for part, more in _POOLS.items() if part in (path if "/" in part else file)]
        self.room = sum((os.cpu_count() or 1) + more for more in pools)
        self.gnu_openmp = [path for path, file in files if _GNU_OPENMP in file]


def _is_shared(line):
    """Whether a line of the map, such as `7f6b-7f6c rw-s 0000 00:01 5 /dev/zero`, stands for memory that a fork does
    not copy. Locks between processes do not count: they are made for forks, and tqdm has one."""
    rights = line.find(" ") + 1
    return line[rights + 1] == "w" and line[rights + 3] == "s" and "/dev/shm/sem." not in line


def _end_pool(path):
    """Makes this GNU OpenMP end the threads that it keeps for its next computation, which starts them again. Returns
    False if it cannot."""
    try:
        import _ctypes

        pause = _ctypes.dlsym(_ctypes.dlopen(path, os.RTLD_NOLOAD | os.RTLD_NOW), "omp_pause_resource_all")
        return _ctypes.call_function(pause, (1,)) == 0
    except (ImportError, OSError, AttributeError):
        return False


class Threads:
    """The threads of this process that matter to a fork. Idle threads of GNU OpenMP are ended first."""

    def __init__(self, memory, unnamed):
        """`unnamed` are the names of threads that were not given one."""
        memory.look(count_threads())
        # True if GNU OpenMP keeps its threads.
        self.is_stuck = not all([_end_pool(path) for path in memory.gnu_openmp])
        # The number of threads without a name that may be missing in a copy.
        self.room = 0 if self.is_stuck else memory.room
        unnamed = {thread_name(os.getpid()), *unnamed}
        names = [thread_name(int(number)) for number in os.listdir("/proc/self/task")]
        self.plain = sum(name in unnamed for name in names if name is not None)
        self.named = [name for name in names if name is not None and name not in unnamed and name not in _HARMLESS]

    def number(self):
        return self.plain + len(self.named)

    def names(self):
        """Returns the names of the named threads, as the end of a sentence."""
        return " (%s)" % ", ".join(sorted(set(self.named))) if self.named else ""


class ThreadWatch:
    """Checks the process after each import."""

    def __init__(self):
        self._memory = MemoryMap()
        self._unnamed = (thread_name(os.getpid()),)
        # Counts after the last import: all threads, those that matter, and those of Python.
        self._all = self._number = count_threads()
        self._plain, self._python, self._room = self._all, _count(), 0
        # The first import that left another kind of thread, with the number and the names of these threads.
        self._stranger = None
        # The first import after which a GPU was in use, and its device, while it is in use.
        self._gpu = None

    def note(self, module):
        """Checks after the import of a module, so that a refusal can name the module."""
        gpu = gpu_in_use(open_files())
        self._gpu = None if gpu is None else self._gpu or (module, gpu)
        if self._all is None:
            return
        found, python = Threads(self._memory, self._unnamed), _count()
        # The threads of Python never belong to a pool.
        native = (found.plain - python) - (self._plain - self._python)
        of_pools = max(0, min(native, found.room - self._room))
        others = found.number() - self._number - of_pools
        if others > 0 and self._stranger is None:
            # Python 3.14 and later name their threads, too.
            names = found.names() if python == self._python else ""
            self._stranger = (module, others, "" if others == 1 else "s", names)
        self._all, self._number, self._plain = count_threads(), found.number(), found.plain
        self._python, self._room = python, found.room

    def why_not_fork(self):
        """Returns why a copy would not be sound now, or None. Open files were checked after each import."""
        running = count_threads()
        if running is None:
            return "threads cannot be counted here"
        if running > 1 and self._stranger is not None:
            return "importing %s left %d thread%s running in the fork server%s" % self._stranger
        # Looking at each thread takes time, and writes to memory that copies share.
        if running > self._all:
            later = Threads(self._memory, self._unnamed).number() - self._number
            if later > 0:
                verb = "thread runs" if later == 1 else "threads run"
                return "%d %s in the fork server that no import started" % (later, verb)
        if _count() > 0:
            return "%d Python threads run in the fork server" % _count()
        if self._gpu is not None:
            return "importing %s began to use a GPU in the fork server (%s)" % self._gpu
        return None
