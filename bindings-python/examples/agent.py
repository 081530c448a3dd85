"""A small agent: loads a configuration, lists its tools, calls one, and goes on when the server is killed.

    python agent.py mcp.json TOOL '{"text": "hello"}'
"""

import asyncio
import os
import signal
import sys

import mcp_resident


async def main(config: str, name: str, arguments: str) -> None:
    async with mcp_resident.load_mcp(config, resident=True) as source:
        source.on_state_change(lambda server, state: print(f"{server} is {state}"))
        print("tools:", ", ".join(tool.name for tool in source.tools))
        tool = source.tool(name)
        if tool is None:
            sys.exit(f"there is no tool {name}")
        print("answer:", (await tool.execute(arguments)).output)

        process = source.info(tool.server).get("processId")
        if process is not None:
            os.kill(process, signal.SIGKILL)
            print("killed", tool.server)
            print("answer:", (await tool.execute(arguments)).output)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
