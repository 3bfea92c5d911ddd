"""The official client over streamable HTTP: the same session, and clients that must not see each other."""

import json
import os
import subprocess
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

import agent
import official
from official import file, greeted, ok, refused, said, text, word_after

ANNA = "anna-" + "a" * 40
BERT = "bert-" + "b" * 40


@contextmanager
def serving(*arguments):
    """A server on a port that the system picks, which knows two tokens; where it is."""
    Path("tokens").touch(mode=0o600)
    Path("tokens").write_text(f"{ANNA}\n{BERT}\n")
    command = [os.environ["INKCELL"], "mcp", "--http", "--token-file", "tokens", "--json", *arguments]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
        try:
            # It goes on after its one object, whose end is a line of its own.
            said_first = iter(server.stdout.readline, "}\n")
            yield json.loads("".join(said_first) + "}")["url"]
        finally:
            server.terminate()
            assert server.wait(timeout=15) is not None


@asynccontextmanager
async def client(url, token, revision=official.NEWEST):
    headers = {"Authorization": f"Bearer {token}"}
    async with create_mcp_http_client(headers) as http:
        async with greeted(streamable_http_client(url, http_client=http), revision) as session:
            yield session


async def whole_session(revision):
    with serving() as url:
        async with client(url, ANNA, revision) as session:
            await agent.everything(session)


@asynccontextmanager
async def patient(revision):
    """A session whose calls end within four minutes."""
    with serving() as url:
        async with client(url, ANNA, revision) as session:
            with anyio.fail_after(240):
                yield session


async def large_text(revision):
    """Every answer fits into what this client takes at once, which is a mebibyte."""
    async with patient(revision) as session:
        await read_large_text(session)


async def large_pictures(revision):
    """The same for pictures."""
    async with patient(revision) as session:
        await see_large_pictures(session)


async def read_large_text(session):
    code = "for n in range(100_000): print('line', n, chr(27) + '[0m')"
    long = await said(session, "python", {"code": code, "timeout": 90, "wait": 90})
    uri = "artifact://" + word_after(long, "artifact://")
    content = (await session.read_resource(uri)).contents[0]
    *lines, note = content.text.splitlines()
    assert lines[-1] == f"line {len(lines) - 1} ␛[0m" and len(lines) > 20_000, lines[-1]
    assert note.endswith(f'for the rest: result, id: "{uri}", lines: "{len(lines) + 1}-" …]'), note
    rest = await said(session, "result", {"id": uri, "lines": f"{len(lines) + 1}-"})
    assert rest.startswith(f"line {len(lines)} "), rest[:100]


async def see_large_pictures(session):
    many = 4
    code = (
        "import matplotlib.pyplot as plt, numpy as np\n"
        f"for n in range({many}):\n"
        "    plt.figure(figsize=(9, 7), dpi=100)\n"
        "    plt.imshow(np.random.default_rng(n).random((700, 900, 3)))\n"
        "    plt.show()"
    )
    answer = await ok(session, "python", {"code": code, "timeout": 90, "wait": 90})
    pictures = [block for block in answer.content if block.type == "image"]
    links = [str(block.uri) for block in answer.content if block.type == "resource_link"]
    words = text(answer)
    assert 1 <= len(pictures) < many and len(links) == many, (len(pictures), links)
    files = [line.split(". Its file: ")[1].rstrip("]") for line in words.splitlines() if ". Its file: " in line]
    assert len(pictures) + len(files) == many, words
    assert all(Path(each).read_bytes().startswith(b"\x89PNG") for each in files), files
    # The picture as Python made it is too large for one answer: it says where it is.
    try:
        whole = await session.read_resource(links[-1])
    except Exception as problem:
        assert str(problem).endswith(f"is too large for one answer; its file is {files[-1]}"), problem
    else:
        raise AssertionError(f"a picture of {Path(files[-1]).stat().st_size} bytes was sent: {len(str(whole))}")


async def strangers_are_refused():
    with serving() as url:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        usual = {"Accept": "application/json, text/event-stream"}
        table = [
            ({}, 401),
            ({"Authorization": "Bearer wrong"}, 401),
            ({"Authorization": f"Bearer {ANNA}x"}, 401),
            ({"Authorization": f"Bearer {ANNA}", "Origin": "http://evil.example"}, 403),
            ({"Authorization": f"Bearer {ANNA}", "Host": "evil.example"}, 403),
        ]
        async with httpx2.AsyncClient() as http:
            for headers, status in table:
                answer = await http.post(url, json=body, headers=usual | headers)
                assert answer.status_code == status, (headers, answer.status_code, answer.text)
                assert "access-control-allow-origin" not in answer.headers, headers
        try:
            async with client(url, "wrong") as session:
                await session.list_tools()
        except BaseException as problem:
            assert "Cancelled" not in repr(problem), problem
        else:
            raise AssertionError("a client with a wrong token was served")


async def two_tokens():
    """Who does not share a token shares nothing; who does shares sessions, artifacts and executions."""
    with serving() as url:
        async with client(url, ANNA) as anna, client(url, BERT) as bert:
            await ok(anna, "python", {"code": "secret = 'of anna'"})
            await ok(bert, "python", {"code": "secret = 'of bert'"})
            assert await said(anna, "python", {"code": "secret"}) == "'of anna'"
            await ok(anna, "python", {"code": "1", "session": "of-anna"})
            assert "of-anna" not in await said(bert, "kernel", {"action": "list"})
            alone = await refused(bert, "kernel", {"action": "status", "session": "of-anna"})
            assert alone.is_error and "no session named 'of-anna'" in text(alone), text(alone)

            long = await said(anna, "python", {"code": "for n in range(30_000): print('anna', n)"})
            uri = "artifact://" + word_after(long, "artifact://")
            assert uri not in [str(each.uri) for each in (await bert.list_resources()).resources]
            hidden = await refused(bert, "result", {"id": uri, "lines": "1-2"})
            assert "anna" not in text(hidden).replace("of-anna", ""), text(hidden)
            try:
                found = await bert.read_resource(uri)
            except Exception as problem:
                assert "no artifact" in str(problem), problem
            else:
                raise AssertionError(f"an artifact of somebody else was read: {found}")

            # A running cell of one is nothing the other can ask for or stop.
            code = (
                "import os, time\nopen('begun', 'w').write('x')\n"
                "while not os.path.exists('gate'): time.sleep(0.02)\n'undisturbed'"
            )
            running = await said(anna, "python", {"code": code, "timeout": 90, "wait": 0.5})
            execution = word_after(running, "execution ")
            await file("begun")
            unknown = await refused(bert, "result", {"id": execution})
            others = text(unknown).replace(execution, "")
            assert "no execution" in others and "begun" not in others, others
            stopped = await said(bert, "kernel", {"action": "interrupt"})
            assert "Nothing was running" in stopped, stopped
            await ok(bert, "kernel", {"action": "restart"})

            async with client(url, ANNA, "2025-11-25") as again:
                uris = [str(each.uri) for each in (await again.list_resources()).resources]
                assert uri in uris, uris
                assert "anna 0" in await said(again, "result", {"id": uri, "lines": "1-2"})
                assert "of-anna" in await said(again, "kernel", {"action": "list"})
                Path("gate").write_text("open")
                ended = await said(again, "result", {"id": execution, "wait": 60})
                assert "undisturbed" in ended, ended
                assert await said(again, "python", {"code": "secret"}) == "'of anna'"
            # A client that left took nothing with it that others of its token use.
            assert await said(anna, "python", {"code": "secret"}) == "'of anna'"


async def twenty_at_once():
    """Calls of two tokens side by side, each with its own answer."""
    with serving() as url:
        async with client(url, ANNA) as anna, client(url, BERT) as bert:
            answers = {}

            async def one(session, number):
                code = f"mine = globals().get('mine', []) + [{number}]\nprint('answer', {number})"
                arguments = {"code": code, "session": f"s{number % 4 // 2}", "timeout": 90, "wait": 90}
                answers[number] = await said(session, "python", arguments)

            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(one, anna if number % 2 else bert, number)
            assert answers == {number: f"answer {number}" for number in range(20)}, answers
            for session, rest in ((anna, 1), (bert, 0)):
                mine = await said(session, "python", {"code": "all(n % 2 for n in mine)", "session": "s0"})
                assert mine == str(rest == 1), mine


if __name__ == "__main__":
    official.main(globals())
