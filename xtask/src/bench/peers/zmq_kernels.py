"""Many kernels in one process, which answer and do nothing: FOLDER COUNT, until standard input ends.

Their connection files are 0.json and so on in the folder. What clients of them hold is measured; a real kernel each
would take more memory than a machine may have.
"""

import hmac
import json
import os
import sys
import uuid

import zmq
from common import StandIn, open_many_files

folder, count = sys.argv[1], int(sys.argv[2])
open_many_files()
context = zmq.Context()
context.set(zmq.MAX_SOCKETS, 16 * count + 16)


class Kernel(StandIn):
    """One of them: its sockets and what it answers."""

    def __init__(self, path):
        super().__init__()
        self.key = uuid.uuid4().hex
        self.iopub = self._bind(zmq.PUB, path, 2)
        self.shell = self._bind(zmq.ROUTER, path, 1)
        self.control = self._bind(zmq.ROUTER, path, 4)
        self.heartbeat = self._bind(zmq.ROUTER, path, 5)
        # Nobody is ever asked for a line, but clients connect.
        self.stdin = self._bind(zmq.ROUTER, path, 3)
        ports = {"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5}
        about = {"transport": "ipc", "ip": path, "signature_scheme": "hmac-sha256", "key": self.key}
        with open(path + ".json", "w") as file:
            json.dump({**about, **ports}, file)

    def _bind(self, kind, path, number):
        socket = context.socket(kind)
        socket.linger = 0
        socket.bind(f"ipc://{path}-{number}")
        return socket

    def _signed(self, kind, parent, content):
        parts = self.packed(kind, parent, content)
        signature = hmac.new(self.key.encode(), b"".join(parts), "sha256").hexdigest()
        return [b"<IDS|MSG>", signature.encode(), *parts]

    def _publish(self, kind, parent, content):
        self.iopub.send_multipart([kind.encode(), *self._signed(kind, parent, content)])

    def beat(self):
        self.heartbeat.send_multipart(self.heartbeat.recv_multipart())

    def request(self, socket):
        frames = socket.recv_multipart()
        mark = frames.index(b"<IDS|MSG>")
        parent, content = json.loads(frames[mark + 2]), json.loads(frames[mark + 5])

        def reply(*message):
            socket.send_multipart(frames[:mark] + self._signed(*message))

        self.answer(parent, content, self._publish, reply)


poller = zmq.Poller()
poller.register(sys.stdin.fileno(), zmq.POLLIN)
react = {}
for number in range(count):
    kernel = Kernel(os.path.join(folder, str(number)))
    react[kernel.heartbeat] = lambda _, kernel=kernel: kernel.beat()
    for socket in (kernel.shell, kernel.control):
        react[socket] = lambda socket, kernel=kernel: kernel.request(socket)
for socket in react:
    poller.register(socket, zmq.POLLIN)
print("{}", flush=True)
while True:
    events = poller.poll()
    if any(socket not in react for socket, _ in events):
        break
    for socket, _ in events:
        react[socket](socket)
context.destroy(linger=0)
