"""A kernel that is there at once and can do next to nothing: five sockets, and an answer to who it is.

It speaks ZeroMQ's protocol by itself, because importing that takes longer than all it does. Its argument is the
connection file.
"""

import hmac
import json
import select
import socket
import sys

with open(sys.argv[1]) as file:
    info = json.load(file)
KEY = info["key"].encode()


def listen(name):
    port = info[name + "_port"]
    if info["transport"] == "tcp":
        family, address = socket.AF_INET, (info["ip"], port)
    else:
        family, address = socket.AF_UNIX, "%s-%d" % (info["ip"], port)
    listening = socket.socket(family)
    listening.bind(address)
    listening.listen()
    return listening


def take(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def frame(connection):
    flags, size = take(connection, 2)
    if flags & 2:
        size = int.from_bytes(bytes([size]) + take(connection, 7), "big")
    return flags, take(connection, size)


def send(connection, frames):
    for at, body in enumerate(frames):
        flags = 2 | (at + 1 < len(frames))
        connection.sendall(bytes([flags]) + len(body).to_bytes(8, "big") + body)


def greet(connection, kind):
    connection.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
    take(connection, 64)
    ready = b"\x05READY\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind
    connection.sendall(bytes([4, len(ready)]) + ready)
    frame(connection)


def pack(number, kind, parent, content):
    header = {"msg_id": str(number), "msg_type": kind, "session": "light"}
    parts = [json.dumps(header).encode(), parent, b"{}", json.dumps(content).encode()]
    return [b"<IDS|MSG>", hmac.new(KEY, b"".join(parts), "sha256").hexdigest().encode(), *parts]


def receive(connection):
    message = []
    more = True
    while more:
        flags, body = frame(connection)
        message.append(body)
        more = flags & 1
    return message


def answer(shell, message):
    global number
    header = message[message.index(b"<IDS|MSG>") + 2]
    number += 3
    said = {"status": "ok", "language_info": {"name": "light", "version": "1"}}
    tell([b"x", *pack(number, "status", header, {"execution_state": "busy"})])
    send(shell, pack(number + 1, "kernel_info_reply", header, said))
    tell([b"x", *pack(number + 2, "status", header, {"execution_state": "idle"})])


def tell(frames):
    for connection, name in list(connections.items()):
        if name == "iopub":
            try:
                send(connection, frames)
            except OSError:
                forget(connection)


def forget(connection):
    connections.pop(connection, None)
    connection.close()


KINDS = {"shell": b"ROUTER", "stdin": b"ROUTER", "control": b"ROUTER", "hb": b"ROUTER", "iopub": b"PUB"}
listening = {listen(name): name for name in KINDS}
# A client that gave up on a busy machine comes again, and another program may try this port: one of each is not enough.
connections = {}
number = 0
served = None
while True:
    for ready in select.select([*listening, *connections], [], [])[0]:
        try:
            if ready in listening:
                name = listening[ready]
                connection = ready.accept()[0]
                greet(connection, KINDS[name])
                connections[connection] = name
            elif ready in connections:
                message = receive(ready)
                if connections[ready] == "shell":
                    answer(ready, message)
                    served = ready
        except (EOFError, OSError):
            if ready is served:
                sys.exit()
            if ready in connections:
                forget(ready)
