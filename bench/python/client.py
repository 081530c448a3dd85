"""Does the work of one cell through one library, and prints what it took as JSON.

    python client.py ours|mcp WORK

WORK is a JSON object: `servers` (each with `command` and `args`, or `url`), `tool`, `calls`, `inFlight`, and `do`, which is
`calls`, `load` or `idle`. Started by `mcp-resident-bench languages`, which says what each cell is.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

Call = Callable[[str, dict[str, Any]], Awaitable[str]]
LARGE_TEXT_BYTES = 10 * 1024 * 1024
# One call in this many is made before the clocks start.
WARM_UP_PART = 10


def ours() -> Any:
    """This library with its defaults."""
    import mcp_resident

    return contextlib.asynccontextmanager(functools.partial(_ours, mcp_resident))


async def _ours(mcp_resident: Any, servers: Sequence[dict[str, Any]]):
    config = {"mcpServers": {f"s{place}": server for place, server in enumerate(servers)}}
    async with await mcp_resident.load_mcp(config) as source:

        def caller(place: int, tool: str) -> Call:
            execute = source.tool(f"s{place}_{tool}").execute

            async def call(arguments: dict[str, Any]) -> str:
                return (await execute(arguments)).output

            return call

        yield caller, len(source.tools)


def mcp() -> Any:
    """The official SDK: a session for each server, all opened at once, and their tools listed."""
    import mcp as sdk
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    return contextlib.asynccontextmanager(functools.partial(_mcp, sdk, stdio_client, streamable_http_client))


async def _mcp(sdk: Any, stdio: Any, http: Any, servers: Sequence[dict[str, Any]]):
    # A session must be closed by the task that opened it.
    close = asyncio.Event()

    async def hold(server: dict[str, Any], ready: asyncio.Future[Any]) -> None:
        if "url" in server:
            transport = http(server["url"])
        else:
            transport = stdio(sdk.StdioServerParameters(command=server["command"], args=server["args"]))
        try:
            async with transport as streams, sdk.ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                ready.set_result((session, (await session.list_tools()).tools))
                await close.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            raise

    futures = [asyncio.get_running_loop().create_future() for _ in servers]
    holders = [asyncio.create_task(hold(server, ready)) for server, ready in zip(servers, futures)]
    opened = await asyncio.gather(*futures)

    def caller(place: int, tool: str) -> Call:
        session = opened[place][0]

        async def call(arguments: dict[str, Any]) -> str:
            result = await session.call_tool(tool, arguments)
            return result.content[0].text

        return call

    yield caller, sum(len(tools) for _, tools in opened)
    close.set()
    await asyncio.gather(*holders)


async def calls(open_servers: Any, work: dict[str, Any]) -> dict[str, Any]:
    latencies: list[int] = []
    text_bytes = 0
    large = work["tool"] == "large"

    async def worker(call: Call, count: int) -> None:
        nonlocal text_bytes
        for number in range(count):
            sent = f"{number:08}"
            start = time.perf_counter_ns()
            text = await call({"text": sent})
            latencies.append(time.perf_counter_ns() - start)
            if len(text) != LARGE_TEXT_BYTES if large else text != sent:
                raise ValueError(f"call {number} was answered with another text")
            text_bytes += len(text)

    async def workers(call: Call, count: int) -> None:
        each = max(1, count // work["inFlight"])
        await asyncio.gather(*(worker(call, each) for _ in range(work["inFlight"])))

    async with open_servers(work["servers"]) as (caller, _):
        call = caller(0, work["tool"])
        await workers(call, work["calls"] // WARM_UP_PART)
        latencies.clear()
        text_bytes = 0
        wall, cpu = time.perf_counter(), time.process_time()
        await workers(call, work["calls"])
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    answers = len(latencies)
    metrics = {
        "median_micros": sorted(latencies)[answers // 2] / 1e3,
        "cpu_micros": cpu * 1e6 / answers,
        "calls_per_second": answers / wall,
    }
    return {"metrics": metrics, "work": {"answers": answers, "text_bytes": text_bytes}}


async def load(open_servers: Any, work: dict[str, Any]) -> dict[str, Any]:
    start = time.perf_counter()
    async with open_servers(work["servers"]) as (_, tools):
        metrics = {"load_millis": (time.perf_counter() - start) * 1e3}
    return {"metrics": metrics, "work": {"answers": tools, "text_bytes": 0}}


async def idle(open_servers: Any, work: dict[str, Any]) -> dict[str, Any]:
    async with open_servers(work["servers"]) as (_, tools):
        await asyncio.sleep(1)
        with open("/proc/self/status", encoding="ascii") as status:
            kib = next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
    return {"metrics": {"process_mib": kib / 1024}, "work": {"answers": tools, "text_bytes": 0}}


def main() -> None:
    library, work = sys.argv[1], json.loads(sys.argv[2])
    do = {"calls": calls, "load": load, "idle": idle}[work["do"]]
    report = asyncio.run(do({"ours": ours, "mcp": mcp}[library](), work))
    print(json.dumps(report))


main()
