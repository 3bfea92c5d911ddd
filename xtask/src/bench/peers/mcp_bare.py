"""The least server that the official SDK makes: one tool, which does nothing."""

import asyncio

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TOOL = types.Tool(name="nothing", description="Does nothing.", input_schema={"type": "object"})
NOTHING = types.CallToolResult(content=[types.TextContent(type="text", text="")])


async def list_tools(_context, _params):
    return types.ListToolsResult(tools=[TOOL])


async def call_tool(_context, _params):
    return NOTHING


async def main():
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


asyncio.run(main())
