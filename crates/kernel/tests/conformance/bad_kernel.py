"""A kernel of no language that does what it is told, and some of it wrong.

Its first argument says how it starts, the second is the connection file. A cell is a word that says what it does.
"""

import hmac
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
import uuid

import zmq

mode, path = sys.argv[1:]
with open(path) as file:
    info = json.load(file)
if mode == "dies":
    sys.stderr.write("broken build\n")
    sys.exit(3)
if mode == "stolen" and not os.path.exists("again"):
    # As a kernel that binds its heartbeat in a thread: it lives on without.
    open("again", "w").close()
    sys.stderr.write("zmq.error.ZMQError: Address already in use\n")
    sys.stderr.flush()
    time.sleep(600)
if mode == "slow":
    time.sleep(1)
if mode == "deaf":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.stderr.write("waiting for nothing\n")
    sys.stderr.flush()
    time.sleep(600)

if mode == "resets":
    # As a socket that somebody else is just closing: what comes to it is cut off.
    family = socket.AF_INET if info["transport"] == "tcp" else socket.AF_UNIX
    name = "%s-%d" % (info["ip"], info["shell_port"])
    with socket.socket(family) as dying:
        dying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        dying.bind((info["ip"], info["shell_port"]) if family == socket.AF_INET else name)
        dying.listen()
        for _ in range(3):
            other = dying.accept()[0]
            # Without a word of farewell.
            other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            other.close()
    if family == socket.AF_UNIX:
        os.unlink(name)
    open("reset", "w").close()

KEY = ("wrong" if mode == "wrong key" else info["key"]).encode()
SESSION = uuid.uuid4().hex
context = zmq.Context()


def bind(kind, name, waiting=1000):
    bound = context.socket(kind)
    bound.linger = 1000
    # How many messages may wait to be sent; the next is dropped.
    bound.sndhwm = waiting
    between = ":" if info["transport"] == "tcp" else "-"
    bound.bind("%s://%s%s%d" % (info["transport"], info["ip"], between, info[name + "_port"]))
    return bound


if mode == "hangs up":
    # As another kernel that had these ports and ends: the connections are made, a request comes, and all is closed.
    kinds = {"hb": zmq.ROUTER, "stdin": zmq.ROUTER, "control": zmq.ROUTER, "iopub": zmq.PUB, "shell": zmq.ROUTER}
    others = {name: bind(kind, name) for name, kind in kinds.items()}
    others["shell"].recv_multipart()
    context.destroy(linger=0)
    context = zmq.Context()
    open("hung up", "w").close()

hb = bind(zmq.ROUTER, "hb")
stdin = bind(zmq.ROUTER, "stdin")
control = bind(zmq.ROUTER, "control")
iopub = bind(zmq.XPUB if mode == "welcomes" else zmq.PUB, "iopub", 5000)
shell = bind(zmq.ROUTER, "shell")


def beat():
    while True:
        hb.send_multipart(hb.recv_multipart())


if mode != "no heartbeat":
    threading.Thread(target=beat, daemon=True).start()


def pack(kind, parent, content, key=KEY):
    header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": SESSION, "username": "", "version": "5.3"}
    parts = [json.dumps(part).encode() for part in (header, parent, {}, content)]
    return [b"<IDS|MSG>", hmac.new(key, b"".join(parts), "sha256").hexdigest().encode(), *parts]


def publish(kind, parent, content, **options):
    iopub.send_multipart([kind.encode(), *pack(kind, parent, content, **options)])


def say(parent, text):
    publish("stream", parent, {"name": "stdout", "text": text})


def status(parent, state):
    if mode == "welcomes" and not os.path.exists("welcomed"):
        return
    publish("status", parent, {"execution_state": state})


def unpack(frames):
    at = frames.index(b"<IDS|MSG>")
    header, parent, metadata, content = (json.loads(part) for part in frames[at + 2 : at + 6])
    return frames[:at], header, metadata, content


count = executed = 0


def execute(who, parent, metadata, content):
    global count, executed
    code = content["code"]
    executed += 1
    count += not content["silent"]

    def reply(status="ok"):
        said = {"status": status, "execution_count": count, "ename": "Wrong", "evalue": "", "traceback": []}
        shell.send_multipart([*who, *pack("execute_reply", parent, said)])

    status(parent, "busy")
    publish("execute_input", parent, {"code": code, "execution_count": count})
    if code == "early idle":
        status(parent, "idle")
        reply()
        say(parent, "late")
        publish("execute_result", parent, {"execution_count": count, "data": {"text/plain": "late"}, "metadata": {}})
        return
    if code == "never idle":
        say(parent, "said")
        return reply()
    if code == "never replies":
        say(parent, "said")
        return status(parent, "idle")
    if code == "stuck":
        say(parent, "go")
        time.sleep(600)
    if code == "stubborn":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        say(parent, "go")
        while True:
            time.sleep(60)
    if code == "forge":
        publish("stream", parent, {"name": "stdout", "text": "forged"}, key=b"other")
        unsigned = pack("stream", parent, {"name": "stdout", "text": "forged"})
        unsigned[1] = b""
        iopub.send_multipart([b"x", *unsigned])
        once = pack("stream", parent, {"name": "stdout", "text": "once"})
        for _ in range(3):
            iopub.send_multipart([b"x", *once])
        iopub.send_multipart([b"no", b"message"])
    if code == "strangers":
        for stranger in ({}, {"msg_id": "other", "session": "other"}, {"msg_id": "other", "session": parent["session"]}):
            say(stranger, "strange")
            status(stranger, "idle")
            shell.send_multipart([*who, *pack("execute_reply", stranger, {"status": "error"})])
        say(parent, "own")
    if code == "flood":
        for number in range(40_000):
            say(parent, "%d\n" % number)
            if number == 20_000:
                open("halfway", "w").close()
            if number % 200 == 199:
                time.sleep(0.01)
    if code == "odd":
        publish("display_data", parent, {"data": {"text/plain": 5, "application/json": None}, "metadata": None})
        publish("display_data", parent, {"data": "none"})
        publish("stream", parent, [])
        publish("not_yet_invented", parent, {"a": 1})
        say(parent, "after")
    if code == "beats":
        beats = 0
        while hb.poll(0):
            hb.recv_multipart()
            beats += 1
        say(parent, str(beats))
    if code == "ask":
        stdin.send_multipart([who[0], *pack("input_request", parent, {"prompt": "name? ", "password": False})])
        say(parent, "got %r" % unpack(stdin.recv_multipart())[3]["value"])
    if code == "executed":
        say(parent, "%d %s" % (executed, metadata))
    if code == "content":
        say(parent, json.dumps(content))
    if code == "dies":
        say(parent, "a")
        time.sleep(0.2)
        os._exit(3)
    if code == "closes":
        iopub.close(0)
        time.sleep(600)
    reply("error" if code == "fails" else "aborted" if code == "aborts" else "ok")
    status(parent, "idle")


def answer(frames):
    who, header, metadata, content = unpack(frames)
    kind = header["msg_type"]
    if kind == "execute_request":
        return execute(who, header, metadata, content)
    said = {
        "kernel_info_request": {"status": "ok", "language_info": {"name": "toy", "version": "7"}},
        "complete_request": {"status": "ok", "matches": ["abc"], "cursor_start": 0, "cursor_end": 2},
        "inspect_request": {"status": "ok", "found": True, "data": {"text/plain": "about it"}},
    }
    status(header, "busy")
    if kind in said:
        shell.send_multipart([*who, *pack(kind.replace("request", "reply"), header, said[kind])])
    status(header, "idle")


poller = zmq.Poller()
poller.register(shell, zmq.POLLIN)
poller.register(control, zmq.POLLIN)
if mode == "welcomes":
    poller.register(iopub, zmq.POLLIN)


waiting = []


def welcome(subscription):
    """At once where it is to everything, which could be somebody else's; later where it is to one topic."""
    if subscription and not waiting:
        waiting.append((time.monotonic() + 0.5, subscription))
        return
    if subscription:
        waiting.clear()
        open("welcomed", "w").close()
    publish("iopub_welcome", {}, {"subscription": subscription})


while True:
    try:
        ready = dict(poller.poll(10 if waiting else None))
        if waiting and time.monotonic() > waiting[0][0]:
            welcome(waiting[0][1])
        if control in ready:
            who, header, _, _ = unpack(control.recv_multipart())
            if header["msg_type"] == "shutdown_request":
                control.send_multipart([*who, *pack("shutdown_reply", header, {"status": "ok"})])
                break
        if iopub in ready:
            wish = iopub.recv()
            if wish[:1] == b"\x01":
                welcome(wish[1:].decode())
        if shell in ready:
            answer(shell.recv_multipart())
    except KeyboardInterrupt:
        pass
context.destroy(1000)
os._exit(0)
