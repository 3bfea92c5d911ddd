"""What the programs of the peers share: clocks, memory, the conversation with the coordinator, jobs of clients."""

import json
import resource
import signal
import struct
import sys
import time
import uuid

# Nothing here takes longer.
LIMIT = 300

# The quickest form of messages that gateways speak: they pass on what the kernel sent.
FORM = "v1.kernel.websocket.jupyter.org"


def say(value):
    print(json.dumps(value), flush=True)


def ms(since):
    return (time.perf_counter() - since) * 1e3


def own_mib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


def raise_error(message):
    if message["msg_type"] == "error":
        raise RuntimeError(": ".join([message["content"]["ename"], message["content"]["evalue"]]))


def open_many_files():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def serve(host, limit=None):
    """Takes one sample for each line of standard input. With a limit, a sample that takes longer ends the process."""
    order = getattr(host, "order", sys.stdin.readline)
    say({"ready": True})
    while order():
        if limit:
            signal.alarm(limit)
        try:
            say(host.sample())
        except Exception as problem:
            say({"error": f"{type(problem).__name__}: {problem}"})
    host.end()


def serve_jobs(jobs):
    """The program of a client, which the task names a job of."""
    task = json.loads(sys.argv[1])
    signal.alarm(LIMIT)
    serve(jobs[task["job"]](task), LIMIT)


def trips(client, task):
    """The code, many times, each until it has answered and is idle again."""
    count = task["count"]
    cpu = time.process_time()
    times = client.trips(task["code"], count)
    return {"us": times, "cpu_us": (time.process_time() - cpu) * 1e6 / count}


def time_trips(run, code, count):
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        run(code)
        times.append(ms(begin) * 1e3)
    return times


async def time_async_trips(run, code, count):
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        await run(code)
        times.append(ms(begin) * 1e3)
    return times


class Clients:
    """What each further client costs this process. Those who connect say how, and how a client leaves."""

    def __init__(self, task):
        self.task = task
        open_many_files()

    def sample(self):
        # The first brings in what all of them share.
        clients = [self.connect(0)]
        before = own_mib()
        clients += [self.connect(number + 1) for number in range(self.task["count"])]
        after = own_mib()
        for client in clients:
            self.leave(client)
        return {"before_mib": before, "mib": after, "grown_mib": after - before}

    def end(self):
        pass


def websocket_frame(parts):
    """Parts of a message in the form of gateways: how many there are, where each begins, and they themselves."""
    at = 8 * (len(parts) + 2)
    offsets = [at]
    for part in parts:
        at += len(part)
        offsets.append(at)
    return struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets) + b"".join(parts)


class StandIn:
    """A kernel that answers and does nothing."""

    INFO = {
        "status": "ok",
        "protocol_version": "5.3",
        "implementation": "none",
        "implementation_version": "0",
        "language_info": {"name": "none", "version": "0", "mimetype": "text/plain", "file_extension": ".txt"},
        "banner": "",
        "help_links": [],
    }

    def __init__(self):
        self.session = uuid.uuid4().hex
        self.count = 0

    def packed(self, kind, parent, content):
        """Header, parent, metadata and content of a message."""
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": kind,
            "session": self.session,
            "username": "",
            "date": "2020-01-01T00:00:00Z",
            "version": "5.3",
        }
        return [json.dumps(part).encode() for part in (header, parent, {}, content)]

    def answer(self, parent, content, publish, reply):
        kind = parent["msg_type"].removesuffix("_request")
        publish("status", parent, {"execution_state": "busy"})
        answer = {"status": "ok"}
        if kind == "kernel_info":
            answer = self.INFO
        elif kind == "execute":
            self.count += 1
            shared = {"execution_count": self.count}
            publish("execute_input", parent, {"code": content["code"], **shared})
            bundle = {"data": {"text/plain": "2"}, "metadata": {}}
            publish("execute_result", parent, {**bundle, **shared})
            answer = {"status": "ok", "user_expressions": {}, "payload": [], **shared}
        reply(kind + "_reply", parent, answer)
        publish("status", parent, {"execution_state": "idle"})
