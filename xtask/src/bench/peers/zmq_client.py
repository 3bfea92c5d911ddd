"""A client of jupyter_client: told "go", takes one sample. The task comes as JSON."""

import asyncio
import time
from queue import Empty

from common import (
    LIMIT,
    Clients,
    time_async_trips,
    ms,
    raise_error,
    serve_jobs,
    trips,
    time_trips,
)
from jupyter_client import AsyncKernelManager, BlockingKernelClient, KernelManager

# Kernels of inkcell keep their history in memory; for the same kernel these must too.
ARGUMENTS = ["--HistoryManager.hist_file=:memory:"]

# Fails unless messages are carried as the task says.
CARRIED = "assert get_ipython().kernel.parent.transport == %r"


def widen(client, task):
    """Lets the client's sockets hold all that comes; else more than a thousand messages are lost."""
    if task["queue"] == "endless":
        client.context.rcvhwm = 0


class Seen:
    """What one cell said, and whether that was all."""

    def __init__(self, request):
        self.request = request
        self.bytes = 0
        self.messages = 0
        self.shown = None
        self.end = None

    def is_about(self, message):
        return message["parent_header"].get("msg_id") == self.request

    def is_last(self, message):
        if not self.is_about(message):
            return False
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            self.bytes += len(content["text"])
            self.messages += 1
        elif kind == "display_data":
            self.bytes += len(content["data"]["text/plain"])
            self.messages += 1
        elif kind == "execute_result":
            self.shown = time.perf_counter()
        elif kind == "error":
            raise_error(message)
        self.end = time.perf_counter()
        return content.get("execution_state") == "idle"


class Blocking:
    """A kernel and the client that waits by itself."""

    def __init__(self, task):
        # What start_new_kernel does, which has no argument for the transport.
        self.manager = KernelManager(transport=transport(task))
        self.manager.start_kernel(cwd=task["cwd"], extra_arguments=ARGUMENTS)
        self.client = self.manager.client()
        widen(self.client, task)
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT)

    def run(self, code, silence=None):
        return run_blocking(self.client, code, silence)

    def trips(self, code, count):
        return time_trips(self.run, code, count)

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def run_blocking(client, code, silence=None):
    """Runs code to its end; where messages may be lost, to a silence of so many seconds.

    Waiting without a limit is what makes the client quickest; the process as a whole has one.
    """
    seen = Seen(client.execute(code))
    try:
        while not seen.is_last(client.get_iopub_msg(timeout=silence)):
            pass
    except Empty:
        pass
    while not seen.is_about(client.get_shell_msg()):
        pass
    return seen


class Awaiting:
    """A kernel and the client that is awaited."""

    def __init__(self, task):
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self._start(task))

    async def _start(self, task):
        self.manager = AsyncKernelManager(transport=transport(task))
        await self.manager.start_kernel(cwd=task["cwd"], extra_arguments=ARGUMENTS)
        self.client = self.manager.client()
        widen(self.client, task)
        self.client.start_channels()
        await self.client.wait_for_ready(timeout=LIMIT)

    async def _run(self, code, silence=None):
        seen = Seen(self.client.execute(code))
        try:
            while not seen.is_last(await self.client.get_iopub_msg(timeout=silence)):
                pass
        except Empty:
            pass
        while not seen.is_about(await self.client.get_shell_msg()):
            pass
        return seen

    def run(self, code, silence=None):
        return self.loop.run_until_complete(self._run(code, silence))

    def trips(self, code, count):
        return self.loop.run_until_complete(time_async_trips(self._run, code, count))

    def end(self):
        self.client.stop_channels()
        self.loop.run_until_complete(self.manager.shutdown_kernel(now=True))


CLIENTS = {"blocking": Blocking, "async": Awaiting}


def transport(task):
    return task["backend"]["zmq"]["transport"]


class Start:
    """A new kernel, until it has shown the value of the code."""

    def __init__(self, task):
        self.task = task

    def sample(self):
        begin = time.perf_counter()
        held = CLIENTS[self.task["client"]](self.task)
        ready = ms(begin)
        seen = held.run(self.task["code"])
        held.run(CARRIED % transport(self.task))
        held.end()
        return {"ms": (seen.shown - begin) * 1e3, "ready_ms": ready}

    def end(self):
        pass


class Held:
    """The code in a kernel that is there."""

    def __init__(self, task):
        self.task = task
        self.held = CLIENTS[task["client"]](task)
        self.held.run(CARRIED % transport(task))

    def end(self):
        self.held.end()


class Trip(Held):
    """The code, many times, each until it has answered and is idle again."""

    def sample(self):
        return trips(self.held, self.task)


class Output(Held):
    """All that the code prints, to the last byte."""

    def sample(self):
        silence = self.task["silence_s"]
        cpu, begin = time.process_time(), time.perf_counter()
        seen = self.held.run(self.task["code"], silence)
        # The silence is no part of it.
        took = ms(begin) if silence is None else (seen.end - begin) * 1e3
        cpu = (time.process_time() - cpu) * 1e3
        wanted = self.task["count"] * self.task["width"]
        lost = wanted - seen.bytes
        if lost and silence is None:
            raise RuntimeError(f"{seen.bytes} bytes arrived of {wanted}")
        rate = seen.bytes / 1e3 / took
        return {"ms": took, "cpu_ms": cpu, "messages": seen.messages, "mb_s": rate, "lost": lost}


class Idle(Clients):
    """Clients of kernels that do nothing."""

    def connect(self, number):
        path = self.task["backend"]["zmq"]["connections"][number]
        client = BlockingKernelClient(connection_file=path)
        client.load_connection_file()
        client.start_channels()
        client.wait_for_ready(timeout=LIMIT)
        run_blocking(client, self.task["code"])
        return client

    def leave(self, client):
        client.stop_channels()


serve_jobs({"start": Start, "trip": Trip, "output": Output, "clients": Idle})
