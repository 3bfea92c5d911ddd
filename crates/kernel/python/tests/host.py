"""A host for tests: starts a runner as the real host does and collects its messages."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BOOT = (
    "import sys;sys.path[:]=[sys.argv[1],*filter(None,sys.path)];import inkcell_runner.__main__ as m;"
    "del sys.path[0];m.start(*sys.argv[2:])"
)

# Only a hang takes this many seconds, even on a busy machine.
LIMIT = 60


def until(what, is_so):
    """Waits until a condition holds."""
    deadline = time.monotonic() + LIMIT
    while not is_so():
        assert time.monotonic() < deadline, "waited %d s for %s" % (LIMIT, what)
        time.sleep(0.005)


class Host:
    def __init__(self, python=None, prelude="off", cwd=None, env=None, root=ROOT, **hello):
        wires = self._make_wires()
        later = ("PYTHONPATH", "PYTHONHOME", "PYTHONPLATLIBDIR")
        env = dict(os.environ) if env is None else env
        started = {name: value for name, value in env.items() if name not in later}
        self.process = subprocess.Popen(
            [python or sys.executable, "-s", "-c", BOOT, root, *map(str, wires[:3]), hello.get("shell", "lite")],
            pass_fds=wires[:3],
            stdin=subprocess.DEVNULL,
            stdout=wires[3],
            stderr=wires[4],
            start_new_session=True,
            env=started,
            # As in the real host: Python 3.13 imports a module for `-c` before the first line of the runner runs.
            cwd="/",
        )
        self._begin(wires, dict({"shell": "lite", "env": env, "prelude": prelude, "cwd": cwd or os.getcwd()}, **hello))

    def _make_wires(self):
        """The five descriptors of a runner; the host keeps the other ends."""
        self.socket, theirs = socket.socketpair()
        lifeline_read, self.lifeline = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        self.pipes = {out_read: "stdout", err_read: "stderr"}
        for fd in self.pipes:
            os.set_blocking(fd, False)
        return theirs.detach(), lifeline_read, os.pidfd_open(os.getpid()), out_write, err_write

    def _begin(self, wires, hello):
        for fd in wires:
            os.close(fd)
        self.buffer = b""
        self.sequence = 0
        self.next_id = 0
        self._send(t="hello", nonce="abc", **hello)
        self.ready = self._frame()
        assert self.ready["t"] == "ready", self.ready

    def _send(self, **command):
        self.socket.sendall(json.dumps(command).encode() + b"\n")

    def _fill(self, deadline):
        left = deadline - time.monotonic()
        readable, _, _ = select.select([self.socket, *self.pipes], [], [], max(0, left))
        if not readable:
            raise TimeoutError
        return readable

    def _frame(self, timeout=LIMIT, events=None):
        deadline = time.monotonic() + timeout
        while True:
            end = self.buffer.find(b"\n")
            if end >= 0:
                frame = json.loads(self.buffer[:end])
                size = frame.get("bytes", 0)
                if len(self.buffer) >= end + 1 + size:
                    frame["payload"] = self.buffer[end + 1 : end + 1 + size]
                    self.buffer = self.buffer[end + 1 + size :]
                    self.sequence += 1
                    if frame["t"] != "ready":
                        assert frame["n"] == "abc"
                    assert frame["s"] == self.sequence, (frame["s"], self.sequence)
                    if frame["t"] not in ("started", "stream"):
                        # As in the real host: bytes written to the pipes before this frame come before it.
                        self._drain(events)
                    return frame
            for source in self._fill(deadline):
                if source is self.socket:
                    data = self.socket.recv(1 << 20)
                    if not data:
                        raise EOFError
                    self.buffer += data
                else:
                    self._read_pipe(source, events)

    def _drain(self, events):
        """Takes all bytes that the pipes hold now."""
        for source in list(self.pipes):
            while self._read_pipe(source, events):
                pass

    def _read_pipe(self, source, events):
        """Takes a piece from a pipe. False if the pipe is empty."""
        try:
            data = os.read(source, 1 << 16)
        except BlockingIOError:
            # The runner took back its own bytes, or the pipe was empty.
            return False
        if not data:
            del self.pipes[source]
        elif events is not None:
            events.append(("fd", self.pipes[source], data))
        return bool(data)

    def run(self, code, timeout=LIMIT, after=None, **fields):
        """Runs code; returns all events, the last of them `done`."""
        self.next_id += 1
        self._send(t="run", id=self.next_id, code=code, **fields)
        if after:
            after(self)
        events = []
        while True:
            frame = self._frame(timeout, events)
            kind = frame["t"]
            if kind == "stream":
                events.append(("stream", frame["name"], frame["payload"]))
            elif "parts" in frame:
                data, at = {}, 0
                for mime, form, size in frame["parts"]:
                    raw = frame["payload"][at : at + size]
                    at += size
                    data[mime] = raw if form == "b" else raw.decode() if form == "t" else json.loads(raw)
                frame["data"] = data
                # The end of a cell may carry its value.
                events.append(("result" if kind == "done" else kind, data, frame))
            if kind not in ("stream", "display", "result"):
                events.append((kind, frame))
            if kind == "done":
                # The real host decides the same way: an earlier error means that the cell failed.
                frame["status"] = "error" if any(event[0] == "error" for event in events) else "ok"
                return events

    def wait_for_go(self):
        """Waits until the cell just sent has written `go`; the cell writes it before it waits."""
        said, events = b"", []
        while b"go" not in said:
            frame = self._frame(events=events)
            said = said[-1:] + b"".join(data for _, _, data in events)
            said += frame["payload"] if frame["t"] == "stream" else b""
            events.clear()

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def text(self, code, **fields):
        """The output of the code, all streams together."""
        events = self.run(code, **fields)
        return b"".join(event[2] for event in events if event[0] in ("stream", "fd")).decode()

    def end(self, timeout=LIMIT, after=None):
        """Ends the runner as the host does; returns the remaining output, streams and pipes together."""
        self._send(t="exit")
        if after:
            after(self)
        said, events = b"", []
        try:
            while True:
                frame = self._frame(timeout, events)
                assert frame["t"] == "stream", frame
                said += frame["payload"]
        except EOFError:
            pass
        self.process.wait(timeout)
        # The channel may end before the host has read the pipes; by now they hold all output.
        rest = b""
        for fd in self.pipes:
            try:
                while True:
                    more = os.read(fd, 1 << 16)
                    if not more:
                        break
                    rest += more
            except BlockingIOError:
                pass
        return (said + b"".join(data for _, _, data in events) + rest).decode()

    def close(self):
        try:
            self._send(t="exit")
        except OSError:
            pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.socket.close()
        os.close(self.lifeline)
        for fd in self.pipes:
            os.close(fd)

    def copies(self):
        """Makes the runner prepare copies of itself, or give the reason why it cannot."""
        return Copies(self)


class Copies:
    """A runner that makes copies of itself and does not run cells any more."""

    def __init__(self, original):
        name = "inkcell-test-%d-%d" % (os.getpid(), original.process.pid)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("\0" + name)
            listener.listen()
            listener.settimeout(LIMIT)
            original._send(t="copies", name=name)
            self.socket, _ = listener.accept()
        self.socket.settimeout(LIMIT)
        self.said = self.socket.makefile("r")
        self.refused = self._hear().get("reason")

    def _hear(self):
        return json.loads(self.said.readline())

    def copy(self):
        return Copy(self)

    def close(self):
        self.said.close()
        self.socket.close()


class Copy(Host):
    """A runner that is a copy of another."""

    def __init__(self, copies):
        self.copies = copies
        wires = self._make_wires()
        socket.send_fds(copies.socket, [b"f"], wires)
        self.pid = copies._hear()["pid"]
        self._begin(wires, {"env": {"INKCELL_KERNEL": "copy"}})

    def close(self):
        """Ends the copy, and waits until its original has reported the end."""
        self._send(t="exit")
        try:
            self.copies.socket.settimeout(5)
            assert self.copies._hear()["pid"] == self.pid
        finally:
            self.socket.close()
            os.close(self.lifeline)
            for fd in self.pipes:
                os.close(fd)
