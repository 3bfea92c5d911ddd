"""ipykernel through jupyter_client: told "go", takes one sample. The task comes as JSON."""

import asyncio
import json
import sys
import time

from common import ms, own_mib, raise_error, serve
from jupyter_client import AsyncKernelManager, KernelManager

LIMIT = 120
TRIES = 4


def pss_mib(pids):
    kib = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup") as rollup:
            kib += next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return kib / 1024


def is_about(message, request):
    return message["parent_header"].get("msg_id") == request


class Start:
    """A new kernel, until it has shown the value of the code."""

    def __init__(self, task):
        self.task = task

    def sample(self):
        begin = time.perf_counter()
        manager = KernelManager()
        manager.start_kernel(cwd=self.task["cwd"])
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=LIMIT)
        ready = ms(begin)
        request = client.execute(self.task["code"])
        while True:
            message = client.get_iopub_msg(timeout=LIMIT)
            if is_about(message, request):
                raise_error(message)
                if message["msg_type"] == "execute_result":
                    break
        shown = ms(begin)
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        return {"ms": shown, "ready_ms": ready}

    def end(self):
        pass


class Trip:
    """The code, many times, in one kernel: until it has answered and is idle again."""

    def __init__(self, task):
        self.task = task
        self.manager = KernelManager()
        self.manager.start_kernel(cwd=task["cwd"])
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT)

    def sample(self):
        times = []
        for _ in range(self.task["count"]):
            begin = time.perf_counter()
            request = self.client.execute(self.task["code"])
            while True:
                message = self.client.get_iopub_msg(timeout=LIMIT)
                if is_about(message, request) and message["content"].get("execution_state") == "idle":
                    break
            while not is_about(self.client.get_shell_msg(timeout=LIMIT), request):
                pass
            times.append(ms(begin) * 1e3)
        return {"us": times}

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


class Many:
    """Many new kernels at once, until all have shown the value of the code."""

    def __init__(self, task):
        self.task = task

    async def _one(self, manager):
        # Without this two of them may pick the same port between the choice and its use.
        manager.cache_ports = True
        await manager.start_kernel(cwd=self.task["cwd"])
        client = manager.client()
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=LIMIT)
            request = client.execute(self.task["code"])
            while True:
                message = await client.get_iopub_msg(timeout=LIMIT)
                if is_about(message, request):
                    raise_error(message)
                    if message["msg_type"] == "execute_result":
                        return
        finally:
            # The kernel stays; what it holds is measured when all are there.
            client.stop_channels()

    async def _all(self):
        managers = [AsyncKernelManager() for _ in range(self.task["count"])]
        try:
            begin = time.perf_counter()
            await asyncio.gather(*map(self._one, managers))
            took = ms(begin)
            pids = [manager.provisioner.pid for manager in managers]
            return {"ms": took, "pss_mib": pss_mib(pids), "client_mib": own_mib()}
        finally:
            for manager in managers:
                if manager.has_kernel:
                    await manager.shutdown_kernel(now=True)

    def sample(self):
        for _ in range(TRIES - 1):
            try:
                return asyncio.run(self._all())
            except RuntimeError as problem:
                # A port that was free when it was chosen can be taken when it is used.
                print("tried again:", problem, file=sys.stderr)
        return asyncio.run(self._all())

    def end(self):
        pass


task = json.loads(sys.argv[1])
serve({"start": Start, "trip": Trip, "many": Many}[task["job"]](task))
