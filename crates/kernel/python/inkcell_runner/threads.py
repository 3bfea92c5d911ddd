"""Finds what a copy of this process would lack: threads, a GPU in use, memory that is shared.

Owns the checks, for the fork server and for kernels alike.  A copy has only the thread that made it.  What another
thread held or did, nobody goes on with there; so every thread needs a reason why it may be missing.  Threads with
a name of their own are judged by it.  The others are idle pools of numerical libraries, as many as these libraries
have.  Only the process that opened a GPU can use it; a GPU library that is merely in memory is code like any other.
"""

import os
import sys
from _thread import _count

# Threads that may be missing in a copy, by the names that the system has for them.
_HARMLESS = (
    # jemalloc's, which pyarrow brings along: it gives unused memory back. jemalloc takes its locks before a fork, and
    # goes on without such threads in the child.
    "jemalloc_bg_thd",
)

# Libraries with a pool that starts anew in a copy, by a part of their file's name or path, and how many more threads
# than processors it has. OpenBLAS and BLIS end their pools before a fork; Intel's and LLVM's OpenMP forget theirs in
# the child, as do numexpr, which pandas imports, and Arrow, which has eight threads besides to read and write files.
_POOLS = {
    "openblas": -1,
    "libblis": -1,
    "libmkl": -1,
    "libiomp": -1,
    "libomp": -1,
    "numexpr/interpreter": 0,
    "libarrow.so": 8,
}

# GNU's OpenMP would wait in a copy for the threads that it had, for ever; it can be told to end them before.
_GNU_OPENMP = "libgomp"

# Devices that are open if a GPU is in use: NVIDIA's, the same under Windows, AMD's, and those
# of the system's own drivers.
_DEVICES = ("/dev/nvidia", "/dev/dxg", "/dev/kfd", "/dev/dri/render")

# A flag of the system's: the thread is ending.
_EXITING = 4


def count_threads():
    """How many threads this process has, or None where that cannot be known."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return None


def thread_name(number):
    """The name that the system has for a thread, or None if it is gone or ends at this moment."""
    try:
        file = os.open("/proc/self/task/%d/stat" % number, os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = os.read(file, 1024)
        finally:
            os.close(file)
    except OSError:
        return None
    # The name is in parentheses, and may hold any.
    end = text.rfind(b")")
    if int(text[end + 2 :].split()[6]) & _EXITING:
        return None
    return text[text.find(b"(") + 1 : end].decode("utf-8", "replace")


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


def gpu_in_use(files):
    """The device of a GPU that is among the open files, or None."""
    return next((target for target in sorted((files or {}).values()) if target.startswith(_DEVICES)), None)


def _read_map():
    try:
        with open("/proc/self/maps") as maps:
            return maps.read()
    except OSError:
        return ""


class MemoryMap:
    """What the map of this process's memory tells. To read it takes milliseconds, on a busy machine many; so that is done
    again only when modules or threads were added."""

    def __init__(self):
        self._seen = None
        # Whether something writable is mapped that a fork does not copy.
        self.is_shared = False
        # The most threads that idle pools may have.
        self.room = 0
        # The files of GNU's OpenMP.
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
    """Whether a line of the map, such as `7f6b-7f6c rw-s 0000 00:01 5 /dev/zero`, is of memory that a fork does not copy. Locks
    between processes are let pass: they are made for forks, and tqdm has one."""
    rights = line.find(" ") + 1
    return line[rights + 1] == "w" and line[rights + 3] == "s" and "/dev/shm/sem." not in line


def _end_pool(path):
    """Has this GNU OpenMP end the threads that it keeps for its next computation, which starts them again. False where it
    cannot."""
    try:
        import _ctypes

        pause = _ctypes.dlsym(_ctypes.dlopen(path, os.RTLD_NOLOAD | os.RTLD_NOW), "omp_pause_resource_all")
        return _ctypes.call_function(pause, (1,)) == 0
    except (ImportError, OSError, AttributeError):
        return False


class Threads:
    """The threads of this process, as far as a fork is concerned. Idle ones of GNU's OpenMP are ended first."""

    def __init__(self, memory, unnamed):
        """`unnamed` are names that threads have which were given none."""
        memory.look(count_threads())
        # It keeps its threads all the same.
        self.is_stuck = not all([_end_pool(path) for path in memory.gnu_openmp])
        # How many of those without a name may be missing in a copy.
        self.room = 0 if self.is_stuck else memory.room
        unnamed = {thread_name(os.getpid()), *unnamed}
        names = [thread_name(int(number)) for number in os.listdir("/proc/self/task")]
        self.plain = sum(name in unnamed for name in names if name is not None)
        self.named = [name for name in names if name is not None and name not in unnamed and name not in _HARMLESS]

    def number(self):
        return self.plain + len(self.named)

    def names(self):
        """The names of those that have one, as the end of a sentence."""
        return " (%s)" % ", ".join(sorted(set(self.named))) if self.named else ""


class ThreadWatch:
    """Checks from its creation on, import by import."""

    def __init__(self):
        self._memory = MemoryMap()
        self._unnamed = (thread_name(os.getpid()),)
        # As it was after the last import: all threads, those that matter, and Python's.
        self._all = self._number = count_threads()
        self._plain, self._python, self._room = self._all, _count(), 0
        # The first import that left a thread of another kind, with the number of them and their names.
        self._stranger = None
        # The first import after which a GPU was in use, and by what, as long as it is.
        self._gpu = None

    def note(self, module):
        """Is told after each import, so that a thread can be laid at the door of a module."""
        gpu = gpu_in_use(open_files())
        self._gpu = None if gpu is None else self._gpu or (module, gpu)
        if self._all is None:
            return
        found, python = Threads(self._memory, self._unnamed), _count()
        # Threads of Python are never those of a pool.
        native = (found.plain - python) - (self._plain - self._python)
        of_pools = max(0, min(native, found.room - self._room))
        others = found.number() - self._number - of_pools
        if others > 0 and self._stranger is None:
            # From 3.14 on threads of Python have names, too.
            names = found.names() if python == self._python else ""
            self._stranger = (module, others, "" if others == 1 else "s", names)
        self._all, self._number, self._plain = count_threads(), found.number(), found.plain
        self._python, self._room = python, found.room

    def why_not_fork(self):
        """Why a copy would not be sound now, or None. What is open was looked at after each import."""
        running = count_threads()
        if running is None:
            return "threads cannot be counted here"
        if running > 1 and self._stranger is not None:
            return "importing %s left %d thread%s running in the fork server%s" % self._stranger
        # A look at each takes time, and memory that copies share.
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
