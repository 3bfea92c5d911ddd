"""An agent at `inkcell mcp`: the official client, and a count of what a model writes and reads.

Owns what counts. A call is one request of a tool. Its bytes are its arguments as JSON, and the text and the links of
its answer; a picture counts as one picture, whatever its size. Structured content, metadata and progress are for
programs and are not counted.
"""

import json
import os
import re
import time
from contextlib import asynccontextmanager

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


class Tally:
    """The figures of a task, and a transcript for a person who judges the answers."""

    def __init__(self, task, log):
        self.calls = self.asked = self.answered = self.pictures = 0
        self.began = time.monotonic()
        self.log = log
        self.log.write(f"\n######## {task}\n")

    def count(self, tool, arguments, answer):
        asked = json.dumps(arguments, ensure_ascii=False)
        self.calls += 1
        self.asked += len(asked.encode())
        self.answered += len(answer.text.encode())
        self.pictures += answer.pictures
        mark = " (error)" if answer.is_error else ""
        self.log.write(f"\n==== {tool} {asked}\n---- {len(answer.text.encode())} bytes{mark}\n{answer.text}\n")

    def figures(self):
        return {
            "calls": self.calls,
            "asked": self.asked,
            "answered": self.answered,
            "bytes": self.asked + self.answered,
            "pictures": self.pictures,
            "seconds": round(time.monotonic() - self.began, 1),
        }


class Answer:
    """What a model sees of an answer."""

    def __init__(self, result):
        self.is_error = result.is_error
        self.pictures = sum(block.type == "image" for block in result.content)
        self.text = "\n".join(words(block) for block in result.content if block.type != "image")

    @property
    def execution(self):
        return self.find(r"execution (x\w+)")

    @property
    def version(self):
        return self.find(r"[Vv]ersion:? ([0-9a-f]{6,})")

    @property
    def artifacts(self):
        """The references in the answer, each once, in their order."""
        return list(dict.fromkeys(re.findall(r"artifact://\w+", self.text)))

    def find(self, pattern):
        found = re.search(pattern, self.text)
        assert found, f"no {pattern!r} in: {self.text[-2000:]}"
        return found[1]


def words(block):
    if block.type == "text":
        return block.text
    if block.type == "resource_link":
        return f"{block.name} {block.uri}"
    return block.model_dump_json(by_alias=True, exclude_none=True)


class Agent:
    """A client with a server of its own."""

    def __init__(self, client, tally):
        self.client = client
        self.tally = tally

    async def call(self, tool, **arguments):
        answer = Answer(await self.client.call_tool(tool, arguments))
        self.tally.count(tool, arguments, answer)
        return answer

    async def ok(self, tool, **arguments):
        """The answer of a call that must work."""
        answer = await self.call(tool, **arguments)
        assert not answer.is_error, f"{tool} {arguments}: {answer.text[-2000:]}"
        return answer

    async def refused(self, tool, **arguments):
        """The answer of a call that must fail."""
        answer = await self.call(tool, **arguments)
        assert answer.is_error, f"{tool} {arguments} worked: {answer.text[-2000:]}"
        return answer

    async def together(self, *requests):
        """Sends all requests in this order without waiting, and returns their answers in the same order."""
        answers = [None] * len(requests)

        async def one(at, tool, arguments):
            answers[at] = await self.call(tool, **arguments)

        async with anyio.create_task_group() as group:
            for at, (tool, arguments) in enumerate(requests):
                group.start_soon(one, at, tool, arguments)
        return answers

    async def takes(self, tool, argument):
        """Whether the tool list names this argument. An agent has read the list before its first call."""
        tools = (await self.client.list_tools()).tools
        return any(one.name == tool and argument in one.input_schema["properties"] for one in tools)


@asynccontextmanager
async def connected(tally, *arguments):
    """An agent in this folder, with these arguments for its server."""
    server = StdioServerParameters(
        command=os.environ["BENCH_INKCELL"], args=["mcp", *arguments], cwd=os.getcwd(), env=dict(os.environ)
    )
    async with Client(stdio_client(server)) as client:
        yield Agent(client, tally)


async def told():
    """Bytes of the tool list and of the instructions, which a model reads before its first call."""
    with open(os.devnull, "w") as log:
        async with connected(Tally("told", log)) as agent:
            tools = (await agent.client.list_tools()).tools
            listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
            text = json.dumps({"tools": listed}, ensure_ascii=False, separators=(",", ":"))
            instructions = agent.client.instructions or ""
            return {"tools": len(text.encode()), "instructions": len(instructions.encode())}
