"""A Python client of a gateway's websockets: told "go", takes one sample. The task comes as JSON."""

import asyncio
import http.client
import json
import select
import socket
import struct
import sys
import time
import uuid

import websocket
from common import (
    FORM,
    LIMIT,
    Clients,
    time_async_trips,
    ms,
    serve_jobs,
    trips,
    time_trips,
    websocket_frame,
)
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

# A server sends an output in one message, however large it is.
MESSAGE_BYTES = 1 << 30


def packed(kind, content):
    """A request on the shell channel, and its name."""
    name = uuid.uuid4().hex
    header = {"msg_id": name, "msg_type": kind, "session": SESSION, "username": "", "version": "5.3"}
    header["date"] = "2020-01-01T00:00:00Z"
    parts = [b"shell", json.dumps(header).encode(), b"{}", b"{}", json.dumps(content).encode()]
    return name, websocket_frame(parts)


def unpacked(data):
    """Channel, header, parent and content of a message."""
    (count,) = struct.unpack_from("<Q", data)
    at = struct.unpack_from(f"<{count}Q", data, 8)
    channel, header, parent, _, content = (data[at[i] : at[i + 1]] for i in range(5))
    return channel, json.loads(header), json.loads(parent), json.loads(content)


SESSION = uuid.uuid4().hex


class Seen:
    """What one cell said, and whether that was all."""

    def __init__(self, request):
        self.request = request
        self.bytes = 0
        self.messages = 0
        self.notices = 0
        self.shown = None
        self.open = {"idle", "execute_reply"}

    def is_last(self, data):
        _, header, parent, content = unpacked(data)
        if parent.get("msg_id") != self.request:
            return False
        kind = header["msg_type"]
        if kind == "stream" and content["name"] == "stdout":
            self.bytes += len(content["text"])
            self.messages += 1
        elif kind == "stream":
            self.notices += 1
        elif kind == "execute_result":
            self.shown = time.perf_counter()
        elif kind == "error":
            raise RuntimeError(": ".join([content["ename"], content["evalue"]]))
        self.open.discard(kind)
        self.open.discard(content.get("execution_state"))
        return not self.open


def execution(code):
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
    return packed("execute_request", {**content, "allow_stdin": False, "stop_on_error": False})


class Quick(socket.socket):
    """A socket whose acknowledgements go at once: that is said again after every receive."""

    def recv(self, *arguments):
        data = super().recv(*arguments)
        self.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return data


class Waiting:
    """The connection of websocket-client, which waits by itself."""

    def __init__(self, task, kernel):
        self.line = (Quick if task["quick"] else socket.socket)(socket.AF_INET, socket.SOCK_STREAM)
        self.line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.line.connect(("127.0.0.1", server(task)["port"]))
        url = f"ws://127.0.0.1:{server(task)['port']}/api/kernels/{kernel}/channels?session_id={SESSION}"
        header = [f"Authorization: token {server(task)['token']}"]
        self.socket = websocket.create_connection(
            url, socket=self.line, header=header, subprotocols=[FORM]
        )

    def run(self, code):
        name, request = execution(code)
        seen = Seen(name)
        self.socket.send_binary(request)
        while not seen.is_last(self.socket.recv()):
            pass
        return seen

    def trips(self, code, count):
        return time_trips(self.run, code, count)

    def order(self):
        """The next line that we are told. A server gives up clients that do not answer its pings meanwhile."""
        while sys.stdin not in select.select([sys.stdin, self.line], [], [])[0]:
            self.socket.recv_data_frame(control_frame=True)
        return sys.stdin.readline()

    def end(self):
        self.socket.close()


class Awaiting:
    """The connection of tornado, which Jupyter's server uses when it is a client of a gateway."""

    loop = None

    def __init__(self, task, kernel):
        if Awaiting.loop is None:
            Awaiting.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(Awaiting.loop)
        Awaiting.loop.run_until_complete(self._open(task, kernel))

    async def _open(self, task, kernel):
        url = f"ws://127.0.0.1:{server(task)['port']}/api/kernels/{kernel}/channels?session_id={SESSION}"
        request = HTTPRequest(url, headers={"Authorization": f"token {server(task)['token']}"})
        self.socket = await websocket_connect(
            request, subprotocols=[FORM], max_message_size=MESSAGE_BYTES
        )
        stream = self.socket.protocol.stream
        stream.max_buffer_size = MESSAGE_BYTES
        stream.set_nodelay(True)
        if task["quick"]:
            usual = stream.read_from_fd

            def read_from_fd(buffer):
                count = usual(buffer)
                stream.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
                return count

            stream.read_from_fd = read_from_fd

    async def _run(self, code):
        name, request = execution(code)
        seen = Seen(name)
        await self.socket.write_message(request, binary=True)
        while True:
            message = await self.socket.read_message()
            if message is None:
                raise RuntimeError(f"the server closed the connection: {self.socket.close_reason}")
            if seen.is_last(message):
                return seen

    def run(self, code):
        return Awaiting.loop.run_until_complete(self._run(code))

    def trips(self, code, count):
        return Awaiting.loop.run_until_complete(time_async_trips(self._run, code, count))

    def order(self):
        told = Awaiting.loop.run_in_executor(None, sys.stdin.readline)
        return Awaiting.loop.run_until_complete(told)

    def end(self):
        self.socket.close()


CLIENTS = {"blocking": Waiting, "async": Awaiting}


def server(task):
    """Where it listens, and what opens it."""
    return task["backend"]["gateway"]


class Kernel:
    """A kernel of the server, and the connection to it."""

    def __init__(self, task):
        self.task = task
        made = json.loads(self._asked("POST", "/api/kernels", '{"name": "python3"}'))
        self.id = made["id"]
        self.socket = CLIENTS[task["client"]](task, self.id)

    def _asked(self, method, path, body=None):
        gateway = http.client.HTTPConnection("127.0.0.1", server(self.task)["port"], timeout=LIMIT)
        headers = {"Authorization": f"token {server(self.task)['token']}", "Content-Type": "application/json"}
        gateway.request(method, path, body, headers)
        answer = gateway.getresponse()
        text = answer.read()
        gateway.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status}")
        return text

    def end(self):
        self.socket.end()
        self._asked("DELETE", f"/api/kernels/{self.id}")


class Start:
    """A new kernel, until it has shown the value of the code."""

    def __init__(self, task):
        self.task = task

    def sample(self):
        begin = time.perf_counter()
        kernel = Kernel(self.task)
        ready = ms(begin)
        seen = kernel.socket.run(self.task["code"])
        kernel.end()
        return {"ms": (seen.shown - begin) * 1e3, "ready_ms": ready}

    def end(self):
        pass


class Held:
    """The code in a kernel that is there."""

    def __init__(self, task):
        self.task = task
        self.kernel = Kernel(task)
        self.kernel.socket.run("pass")

    def order(self):
        return self.kernel.socket.order()

    def end(self):
        self.kernel.end()


class Trip(Held):
    """The code, many times, each until it has answered and is idle again."""

    def sample(self):
        return trips(self.kernel.socket, self.task)


class Output(Held):
    """All that the code prints, and how much of it is missing."""

    def sample(self):
        cpu, begin = time.process_time(), time.perf_counter()
        seen = self.kernel.socket.run(self.task["code"])
        took = ms(begin)
        cpu = (time.process_time() - cpu) * 1e3
        figures = {"ms": took, "cpu_ms": cpu, "messages": seen.messages, "notices": seen.notices}
        lost = self.task["count"] * self.task["width"] - seen.bytes
        return {**figures, "mb_s": seen.bytes / 1e3 / took, "lost": lost}


class Idle(Clients):
    """Clients of kernels that do nothing."""

    def connect(self, _):
        kernel = Kernel(self.task)
        kernel.socket.run(self.task["code"])
        return kernel

    def leave(self, kernel):
        kernel.end()


serve_jobs({"start": Start, "trip": Trip, "output": Output, "clients": Idle})
