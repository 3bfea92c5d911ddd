"""Jupyter kernels that are forks of one process, which has imported ipykernel.

    kernels.py serve SOCKET [MODULE ...]              import these too, listen, end when standard input does
    kernels.py ipykernel_launcher SOCKET [WORD ...]   the command of a kernelspec: what this module is with these words

Every notebook has a kernel of its own, and the imports are paid for once. The command hands its descriptors, folder
and environment to the server, which forks a kernel that has them as its own. The command ends as the kernel ends; the
kernel is killed when the command is.

The command runs once for every kernel, so it imports as little as it can.
"""

import array
import json
import os
import signal
import socket
import sys

#: What a kernel imports before its first cell, and with its first traceback, magic and command.
IMPORTED = [
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.debugger",
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.magics.display",
    "IPython.core.magics.execution",
    "IPython.core.magics.namespace",
    "IPython.core.magics.osm",
    "IPython.core.magics.script",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "fractions",
    "pexpect",
    "psutil",
    "pygments.formatters.html",
    "pygments.formatters.terminal256",
    "pygments.lexers.python",
    "sqlite3",
    "stack_data",
    "tornado.platform.asyncio",
    "tornado.queues",
]
#: What a flush sends after the output of programs. No notebook writes it.
MARK = "\x1e"
#: How long a flush waits for it where a cell has sent the descriptor elsewhere.
PATIENCE = 60
#: How many descriptors a command may hand over.
MOST = 64
#: Received descriptors wait above this number until they can take the ones that they are to have.
ABOVE = 200


def start(where, words):
    """Asks for a kernel, stays until it has ended, and ends in the same way."""
    # Without the descriptor that listing them takes.
    descriptors = [int(name) for name in os.listdir("/dev/fd") if is_open(int(name))]
    request = {"descriptors": descriptors, "folder": os.getcwd(), "environ": dict(os.environ), "words": words}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.connect(where)
        server.sendmsg([b"\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])
        server.sendall(json.dumps(request).encode() + b"\n")
        answers = server.makefile("r")
        pid = int(answers.readline())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        status = int(answers.readline())
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) != signal.SIGKILL:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    sys.exit(os.WEXITSTATUS(status))


def is_open(descriptor):
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


class Server:
    """Forks kernels, tells their commands how they end, and kills those whose commands are gone."""

    def __init__(self, where):
        import selectors

        self.selector, self.readable = selectors.DefaultSelector(), selectors.EVENT_READ
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(where)
        self.listener.listen(MOST)
        # The end of a kernel writes here.
        self.wakes, self.waker = socket.socketpair()
        self.wakes.setblocking(False)
        self.waker.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.waker.fileno(), warn_on_full_buffer=False)
        #: The connection to the command of each kernel.
        self.commands = {}
        self.is_kernel = False
        self.selector.register(self.listener, self.readable, self.fork)
        self.selector.register(self.wakes, self.readable, self.reap)
        self.selector.register(sys.stdin, self.readable, self.end)

    def serve(self):
        """Returns in the forks alone."""
        while True:
            for key, _ in self.selector.select():
                key.data()
                if self.is_kernel:
                    return

    def fork(self):
        command, _ = self.listener.accept()
        received = array.array("i")
        _, rights, _, _ = command.recvmsg(1, socket.CMSG_SPACE(MOST * received.itemsize))
        for _, _, data in rights:
            received.frombytes(data)
        with command.makefile("r") as words:
            request = json.loads(words.readline())
        pid = os.fork()
        if pid == 0:
            self.is_kernel = True
            self.close(command)
            become(request, received)
            return
        for descriptor in received:
            os.close(descriptor)
        self.commands[pid] = command
        self.selector.register(command, self.readable, lambda: self.abandon(pid))
        command.sendall(b"%d\n" % pid)

    def close(self, command):
        """Lets go of what is the server's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.selector.close()
        for each in (self.listener, self.wakes, self.waker, command, *self.commands.values()):
            each.close()

    def abandon(self, pid):
        self.selector.unregister(self.commands[pid])
        kill_group(pid)

    def reap(self):
        self.wakes.recv(4096)
        while self.commands:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            command = self.commands.pop(pid)
            try:
                self.selector.unregister(command)
                command.sendall(b"%d\n" % status)
            except (KeyError, OSError):
                # The command is gone.
                pass
            command.close()

    def end(self):
        for pid in self.commands:
            kill_group(pid)
        sys.exit()


def kill_group(leader):
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def become(request, received):
    """Gives a fork the descriptors, folder, environment and words of its command."""
    import fcntl

    os.setsid()
    waiting = [fcntl.fcntl(each, fcntl.F_DUPFD, ABOVE) for each in received]
    for each in received:
        os.close(each)
    for each, number in zip(waiting, request["descriptors"]):
        os.dup2(each, number)
        os.close(each)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv[1:] = request["words"]


def prepare(modules):
    """Imports what the forks are to have, and starts no thread."""
    import gc

    # Kernels must not find modules beside this file.
    del sys.path[0]
    # ipykernel looks at import who its parent is, and ends when that does.
    os.environ["JPY_PARENT_PID"] = str(os.getpid())
    # A kernel says so before a cell can import matplotlib.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    for name in IMPORTED + modules:
        __import__(name)
    wait_for_programs()
    flush_at_ends()
    # A collection in a fork would write to every page, and so copy it.
    gc.collect()
    gc.freeze()


def wait_for_programs():
    """Lets a flush, and so the end of a cell, wait for what programs wrote to a descriptor.

    A thread of ipykernel reads that from a pipe. Where it comes too late, the output belongs to no cell and is lost.
    """
    import threading

    from ipykernel.iostream import OutStream

    write, flush = OutStream.write, OutStream.flush

    def write_or_note(stream, text):
        if threading.current_thread() is stream.watch_fd_thread and MARK in text:
            text = text.replace(MARK, "")
            stream.mark_came.set()
        return write(stream, text)

    def flush_all(stream):
        if os.getpid() == stream._master_pid and stream.watch_fd_thread.is_alive():
            stream.mark_came = threading.Event()
            os.write(stream._original_stdstream_fd, MARK.encode())
            stream.mark_came.wait(PATIENCE)
        flush(stream)

    OutStream.write, OutStream.flush = write_or_note, flush_all


def flush_at_ends():
    """Sends streams where code ends, displays or flushes, and nowhere else.

    ipykernel also sends what is older than 0.2 s, so that a slow machine finds the two streams in another order.
    """
    from ipykernel.iostream import OutStream

    OutStream.flush_interval = PATIENCE


if __name__ == "__main__":
    if sys.argv[1] == "ipykernel_launcher":
        start(sys.argv[2], sys.argv[3:])
    prepare(sys.argv[3:])
    server = Server(sys.argv[2])
    print("ready", flush=True)
    server.serve()
    # From here on this is a kernel, as `python -m ipykernel_launcher` is one.
    import ipykernel_launcher
    from ipykernel import kernelapp

    sys.argv[0] = ipykernel_launcher.__file__
    kernelapp.launch_new_instance()
