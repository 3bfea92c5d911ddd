"""The official Python client of the protocol, connected to the executable under test.

Owns how the server is started and greeted, and how an answer is looked at. What is asked is in the other files
here, one function a scenario; `tests/it/mcp_official.rs` names the function and reads the exit code.
"""

import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import mcp_types
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

# Nothing here needs longer; what does hangs.
LIMIT = 500

# How this client comes to speak a revision by itself; an older one it is made to.
BY_MODE = {"2025-11-25": "legacy", "2026-07-28": "auto"}
NEWEST = "2026-07-28"


def parameters(*arguments, **environment):
    """How the executable is started: in the folder of the test, with its state."""
    told = {name: os.environ[name] for name in ("INKCELL_STATE_DIR", "INKCELL_PYTHON_INTERPRETER")}
    return StdioServerParameters(
        command=os.environ["INKCELL"],
        args=["mcp", *arguments],
        cwd=os.getcwd(),
        env=told | environment,
    )


@asynccontextmanager
async def connected(*arguments, revision=NEWEST, heard=None, **environment):
    """A session with a server of its own. `heard` gets everything that is no answer, junk on the wire too."""
    async with greeted(stdio_client(parameters(*arguments, **environment)), revision, heard) as session:
        yield session


@asynccontextmanager
async def greeted(transport, revision=NEWEST, heard=None):
    """A session over any transport, in this revision of the protocol."""
    if revision in BY_MODE:
        async with Client(transport, mode=BY_MODE[revision], message_handler=heard) as client:
            assert client.protocol_version == revision, client.protocol_version
            yield client.session
        return
    async with transport as (incoming, outgoing):
        async with ClientSession(incoming, outgoing, message_handler=heard) as session:
            await greet(session, revision)
            yield session


async def greet(session, revision):
    """The handshake with an older revision than this client would offer by itself."""
    request = mcp_types.InitializeRequest(
        params=mcp_types.InitializeRequestParams(
            protocol_version=revision,
            capabilities=mcp_types.ClientCapabilities(),
            client_info=mcp_types.Implementation(name="test", version="1"),
        )
    )
    answer = await session.send_request(request, mcp_types.InitializeResult)
    assert answer.protocol_version == revision, answer
    session.adopt(answer)
    await session.send_notification(mcp_types.InitializedNotification())


def text(answer):
    """All text of an answer, one block after the other."""
    return "\n".join(block.text for block in answer.content if block.type == "text")


async def ok(session, tool, arguments, **more):
    """The answer of a call that must work."""
    answer = await session.call_tool(tool, arguments, **more)
    assert not answer.is_error, f"{tool} {arguments}: {text(answer)}"
    return answer


async def said(session, tool, arguments, **more):
    """The text of a call that must work."""
    return text(await ok(session, tool, arguments, **more))


async def refused(session, tool, arguments):
    """The answer of a call that must fail, as a result and not as a failure of the protocol."""
    answer = await session.call_tool(tool, arguments)
    assert answer.is_error, f"{tool} {arguments}: {text(answer)}"
    return answer


def word_after(words, mark):
    """The letters and digits that follow a mark."""
    assert mark in words, f"no {mark!r} in {words}"
    rest = words.split(mark, 1)[1]
    end = next((at for at, letter in enumerate(rest) if not letter.isalnum()), len(rest))
    return rest[:end]


async def file(name):
    """The text of a file that code under test writes, as soon as there is any."""
    path = Path(name)
    while not (path.exists() and path.read_text()):
        await anyio.sleep(0.01)
    return path.read_text()


def same(got, wanted):
    """Two texts, and where they differ when they do."""
    assert got == wanted, f"\n--- got\n{got}\n--- wanted\n{wanted}\n---"


def main(scenarios):
    """Runs the scenario that the command line names, with the words after it."""

    async def bounded():
        with anyio.fail_after(LIMIT):
            await scenarios[sys.argv[1]](*sys.argv[2:])

    anyio.run(bounded)
