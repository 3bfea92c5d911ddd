"""A gateway whose kernels answer and do nothing, until standard input ends. Says its port.

What clients of many kernels hold is measured; a real kernel each would take more memory than a machine may have.
"""

import asyncio
import json
import resource
import struct
import sys
import uuid

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler
from tornado.websocket import WebSocketHandler

FORM = "v1.kernel.websocket.jupyter.org"

INFO = {
    "status": "ok",
    "protocol_version": "5.3",
    "implementation": "none",
    "implementation_version": "0",
    "language_info": {"name": "none", "version": "0", "mimetype": "text/plain", "file_extension": ".txt"},
    "banner": "",
    "help_links": [],
}

SPEC = {"argv": [], "display_name": "none", "language": "none"}


class Kernelspecs(RequestHandler):
    def get(self):
        self.write({"default": "python3", "kernelspecs": {"python3": {"name": "python3", "spec": SPEC}}})


class Kernels(RequestHandler):
    def post(self):
        self.set_status(201)
        self.write({"id": str(uuid.uuid4()), "name": "python3"})


class Kernel(RequestHandler):
    def delete(self, _):
        self.set_status(204)


class Channels(WebSocketHandler):
    def open(self, _):
        self.set_nodelay(True)
        self.count = 0

    def select_subprotocol(self, _):
        return FORM

    def _say(self, channel, kind, parent, content):
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": kind,
            "session": "none",
            "username": "",
            "date": "2020-01-01T00:00:00Z",
            "version": "5.3",
        }
        parts = [channel, *(json.dumps(part).encode() for part in (header, parent, {}, content))]
        at = 8 * (len(parts) + 2)
        offsets = [at]
        for part in parts:
            at += len(part)
            offsets.append(at)
        table = struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets)
        self.write_message(table + b"".join(parts), binary=True)

    def on_message(self, data):
        at = struct.unpack_from("<6Q", data, 8)
        parent, content = json.loads(data[at[1] : at[2]]), json.loads(data[at[4] : at[5]])
        kind = parent["msg_type"].removesuffix("_request")
        self._say(b"iopub", "status", parent, {"execution_state": "busy"})
        reply = {"status": "ok"}
        if kind == "kernel_info":
            reply = INFO
        elif kind == "execute":
            self.count += 1
            shared = {"execution_count": self.count}
            self._say(b"iopub", "execute_input", parent, {"code": content["code"], **shared})
            bundle = {"data": {"text/plain": "2"}, "metadata": {}}
            self._say(b"iopub", "execute_result", parent, {**bundle, **shared})
            reply = {"status": "ok", "user_expressions": {}, "payload": [], **shared}
        self._say(b"shell", kind + "_reply", parent, reply)
        self._say(b"iopub", "status", parent, {"execution_state": "idle"})


async def main():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    routes = [
        ("/api/kernelspecs", Kernelspecs),
        ("/api/kernels", Kernels),
        ("/api/kernels/([^/]+)", Kernel),
        ("/api/kernels/([^/]+)/channels", Channels),
    ]
    [listener] = bind_sockets(0, "127.0.0.1")
    HTTPServer(Application(routes)).add_socket(listener)
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
