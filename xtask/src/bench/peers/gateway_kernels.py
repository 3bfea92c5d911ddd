"""A gateway whose kernels answer and do nothing, until standard input ends. Says its port.

What clients of many kernels hold is measured; a real kernel each would take more memory than a machine may have.
"""

import asyncio
import json
import struct
import sys
import uuid
from functools import partial

from common import FORM, StandIn, open_many_files, websocket_frame
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler
from tornado.websocket import WebSocketHandler

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
        self.kernel = StandIn()

    def select_subprotocol(self, _):
        return FORM

    def _say(self, channel, *message):
        self.write_message(websocket_frame([channel, *self.kernel.packed(*message)]), binary=True)

    def on_message(self, data):
        at = struct.unpack_from("<6Q", data, 8)
        parent, content = json.loads(data[at[1] : at[2]]), json.loads(data[at[4] : at[5]])
        publish, reply = partial(self._say, b"iopub"), partial(self._say, b"shell")
        self.kernel.answer(parent, content, publish, reply)


async def main():
    open_many_files()
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
