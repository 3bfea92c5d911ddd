"""A client of jupyter_client: told "go", takes one sample. The task comes as JSON."""

import asyncio
import json
import resource
import signal
import sys
import time
from queue import Empty

from jupyter_client import AsyncKernelManager, BlockingKernelClient, KernelManager

# Nothing here takes longer. Waiting without a limit of its own is what makes the client quickest.
LIMIT = 300

# Kernels of inkcell keep their history in memory; for the same kernel these must too.
ARGUMENTS = ["--HistoryManager.hist_file=:memory:"]

# Fails unless messages are carried as the task says.
CARRIED = "assert get_ipython().kernel.parent.transport == %r"


def say(value):
    print(json.dumps(value), flush=True)


def ms(since):
    return (time.perf_counter() - since) * 1e3


def own_mib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


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
            raise RuntimeError(": ".join([content["ename"], content["evalue"]]))
        self.end = time.perf_counter()
        return content.get("execution_state") == "idle"


class Blocking:
    """A kernel and the client that waits by itself."""

    def __init__(self, task):
        # What start_new_kernel does, which has no argument for the transport.
        self.manager = KernelManager(transport=task["transport"])
        self.manager.start_kernel(cwd=task["cwd"], extra_arguments=ARGUMENTS)
        self.client = self.manager.client()
        widen(self.client, task)
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT)

    def run(self, code, silence=None):
        return run_blocking(self.client, code, silence)

    def trips(self, code, count):
        times = []
        for _ in range(count):
            begin = time.perf_counter()
            self.run(code)
            times.append(ms(begin) * 1e3)
        return times

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def run_blocking(client, code, silence=None):
    """Runs code to its end; where messages may be lost, to a silence of so many seconds."""
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
        self.manager = AsyncKernelManager(transport=task["transport"])
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
        async def all_of_them():
            times = []
            for _ in range(count):
                begin = time.perf_counter()
                await self._run(code)
                times.append(ms(begin) * 1e3)
            return times

        return self.loop.run_until_complete(all_of_them())

    def end(self):
        self.client.stop_channels()
        self.loop.run_until_complete(self.manager.shutdown_kernel(now=True))


CLIENTS = {"blocking": Blocking, "awaiting": Awaiting}


class Start:
    """A new kernel, until it has shown the value of the code."""

    def __init__(self, task):
        self.task = task

    def sample(self):
        begin = time.perf_counter()
        held = CLIENTS[self.task["client"]](self.task)
        ready = ms(begin)
        seen = held.run(self.task["code"])
        held.run(CARRIED % self.task["transport"])
        held.end()
        return {"ms": (seen.shown - begin) * 1e3, "ready_ms": ready}

    def end(self):
        pass


class Held:
    """The code in a kernel that is there."""

    def __init__(self, task):
        self.task = task
        self.held = CLIENTS[task["client"]](task)
        self.held.run(CARRIED % task["transport"])

    def end(self):
        self.held.end()


class Trip(Held):
    """The code, many times, each until it has answered and is idle again."""

    def sample(self):
        count = self.task["count"]
        cpu = time.process_time()
        times = self.held.trips(self.task["code"], count)
        return {"us": times, "cpu_us": (time.process_time() - cpu) * 1e6 / count}


class Output(Held):
    """All that the code prints, to the last byte."""

    def sample(self):
        silence = self.task["silence_s"]
        cpu, begin = time.process_time(), time.perf_counter()
        seen = self.held.run(self.task["code"], silence)
        # The silence is no part of it.
        took = ms(begin) if silence is None else (seen.end - begin) * 1e3
        cpu = (time.process_time() - cpu) * 1e3
        lost = self.task["bytes"] - seen.bytes
        if lost and silence is None:
            raise RuntimeError(f"{seen.bytes} bytes arrived of {self.task['bytes']}")
        rate = seen.bytes / 1e3 / took
        return {"ms": took, "cpu_ms": cpu, "messages": seen.messages, "mb_s": rate, "lost": lost}


class Clients:
    """What each further client costs this process."""

    def __init__(self, task):
        self.task = task
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def _connected(self, path):
        client = BlockingKernelClient(connection_file=path)
        client.load_connection_file()
        client.start_channels()
        client.wait_for_ready(timeout=LIMIT)
        run_blocking(client, self.task["code"])
        return client

    def sample(self):
        first, *rest = self.task["connections"]
        # The first brings in what all of them share.
        clients = [self._connected(first)]
        before = own_mib()
        clients += [self._connected(path) for path in rest]
        after = own_mib()
        for client in clients:
            client.stop_channels()
        return {"before_mib": before, "mib": after, "grown_mib": after - before}

    def end(self):
        pass


def main():
    task = json.loads(sys.argv[1])
    signal.alarm(LIMIT)
    host = {"start": Start, "trip": Trip, "output": Output, "clients": Clients}[task["job"]](task)
    say({"ready": True})
    for _ in sys.stdin:
        signal.alarm(LIMIT)
        try:
            say(host.sample())
        except Exception as problem:
            say({"error": f"{type(problem).__name__}: {problem}"})
    host.end()


main()
