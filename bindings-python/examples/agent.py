"""A small agent: loads a configuration, lists its tools, calls one, and goes on when the server is killed.

    python agent.py mcp.json TOOL '{"text": "hello"}'
"""

import asyncio
import os
import signal
import sys

import mcp_resident


async def ask(tool: mcp_resident.Tool, arguments: str) -> None:
    """Calls a tool that does no harm, and once more when the server was lost under the call."""
    result = await tool.execute(arguments)
    if result.is_error and result.metadata["error"]["kind"] == "dropped":
        print("lost:", result.output)
        result = await tool.execute(arguments)
    print("answer:", result.output)


async def main(config: str, name: str, arguments: str) -> None:
    async with mcp_resident.load_mcp(config, resident=True) as source:
        source.on_state_change(lambda server, state: print(f"{server} is {state}"))
        print("tools:", ", ".join(tool.name for tool in source.tools))
        tool = source.tool(name)
        if tool is None:
            sys.exit(f"there is no tool {name}")
        await ask(tool, arguments)

        process = source.info(tool.server).get("processId")
        if process is not None:
            os.kill(process, signal.SIGKILL)
            print("killed", tool.server)
            await ask(tool, arguments)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
