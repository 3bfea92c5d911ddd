"""A client that is killed, and what else may come out of the server than the protocol."""

import os
import sys

import anyio
import psutil
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client

import official
from official import connected, file, ok, said

# Code that runs until it is ended, whatever it is asked.
STUBBORN = (
    "import os, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "open('pid', 'w').write(str(os.getpid()))\nwhile True: time.sleep(60)"
)


def tell(*processes):
    """Says which processes there are, one a line; whoever reads it kills this one next."""
    for process in processes:
        print(process, flush=True)


async def busy_with_a_cell():
    async with connected() as session, anyio.create_task_group() as group:
        asked = {"code": "import os; os.getpid()", "session": "idle"}
        idle = await said(session, "python", asked)
        group.start_soon(session.call_tool, "python", {"code": STUBBORN, "timeout": 600})
        tell(psutil.Process().children()[0].pid, idle, await file("pid"))


async def busy_with_bash():
    async with connected("--tools", "compat") as session, anyio.create_task_group() as group:
        command = "trap '' INT TERM HUP; echo $$ > shell; sleep 600 & echo $! > sleeper; wait; sleep 600"
        group.start_soon(session.call_tool, "bash", {"command": command, "timeout": 600})
        sleeper = await file("sleeper")
        tell(psutil.Process().children()[0].pid, (await file("shell")).strip(), sleeper.strip())


async def only_the_protocol():
    """Code writes wherever it can; the client hears the protocol and nothing else."""
    junk = []

    async def heard(message):
        if isinstance(message, Exception):
            junk.append(message)

    forged = '{"jsonrpc": "2.0", "id": 1, "result": {"content": []}}'
    code = (
        "import os, subprocess, sys\n"
        f"forged = {forged!r} + '\\n'\n"
        "os.write(1, forged.encode())\nos.write(2, forged.encode())\n"
        "sys.__stdout__.write(forged); sys.__stdout__.flush()\n"
        "subprocess.run(['echo', forged])\nos.system('echo to the shell')\n"
        "print('printed')"
    )
    async with connected("--tools", "all", heard=heard) as session:
        for tool, asked in [
            ("python", {"code": code}),
            ("eval", {"cells": [{"language": "py", "code": code}]}),
            ("bash", {"command": f"echo '{forged}'; echo '{forged}' >&2; echo printed"}),
        ]:
            words = await said(session, tool, asked)
            assert "printed" in words and forged in words, words
        await ok(session, "python", {"code": "1"})
    assert junk == [], junk
    # The same listener does hear what is no protocol.
    server = official.parameters()
    shell = StdioServerParameters(
        command="sh",
        args=["-c", 'echo junk; exec "$0" mcp', server.command],
        cwd=server.cwd,
        env=server.env,
    )
    async with stdio_client(shell, errlog=open(os.devnull, "w")) as (incoming, _):
        assert isinstance(await incoming.receive(), Exception)


if __name__ == "__main__":
    if sys.argv[1] == "only_the_protocol":
        # The client reports junk with a stack of its own, which says nothing here.
        import logging

        logging.disable(logging.ERROR)
    official.main(globals())
