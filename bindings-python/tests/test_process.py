"""Whole interpreters: their ends, forks, and imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

LIMIT = 60


def interpreter(program: str, config: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CONFIG": json.dumps(config)}
    head = "import asyncio, json, os, sys, threading\nconfig = json.loads(os.environ['CONFIG'])\n"
    return subprocess.run(
        [sys.executable, "-c", head + program], env=environment, capture_output=True, text=True, timeout=LIMIT
    )


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


FORGOTTEN = """
from mcp_resident import sync
source = sync.load_mcp(config)
sleep = source.tool("s_sleep")
for _ in range(5):
    threading.Thread(target=lambda: sleep.execute({"ms": 60000}), daemon=True).start()
source.tool("s_echo").execute({"text": "x"})
print(source.info("s")["processId"])
"""

FORGOTTEN_ASYNC = """
import mcp_resident
async def main():
    source = await mcp_resident.load_mcp(config)
    calls = [asyncio.create_task(source.tool("s_sleep").execute({"ms": 60000})) for _ in range(5)]
    await source.tool("s_echo").execute({"text": "x"})
    print(source.info("s")["processId"], flush=True)
asyncio.run(main())
"""


@pytest.mark.parametrize("program", [FORGOTTEN, FORGOTTEN_ASYNC])
def test_an_interpreter_that_ends_with_calls_in_flight_ends_well(fake: Any, program: str) -> None:
    for _ in range(int(os.environ.get("MCP_RESIDENT_EXITS", "5"))):
        done = interpreter(program, fake())
        assert (done.returncode, done.stderr) == (0, "")
        assert not alive(int(done.stdout))


def test_after_a_fork_everything_fails_at_once_and_says_why(fake: Any) -> None:
    program = """
import mcp_resident
from mcp_resident import sync
source = sync.load_mcp(config)
pid = os.fork()
if pid == 0:
    failed = 0
    for work in (lambda: source.tool("s_echo").execute({"text": "x"}), lambda: sync.load_mcp(config), source.close):
        try:
            work()
        except mcp_resident.ForkedError as error:
            failed += "forked from process" in str(error)
    os._exit(10 + failed)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 13
assert source.tool("s_echo").execute({"text": "x"}).output == "x"
source.close()
"""
    done = interpreter(program, fake())
    assert (done.returncode, done.stderr) == (0, "")


def test_a_child_that_is_the_first_to_load_works(fake: Any) -> None:
    program = """
from mcp_resident import sync
pid = os.fork()
with sync.load_mcp(config) as source:
    assert source.tool("s_echo").execute({"text": "x"}).output == "x"
if pid:
    assert os.waitpid(pid, 0)[1] == 0
"""
    done = interpreter(program, fake())
    assert (done.returncode, done.stderr) == (0, "")


def test_an_import_brings_no_parser(fake: Any) -> None:
    program = """
before = set(sys.modules) - {"json", "asyncio"}
import mcp_resident
print(sorted({"pydantic", "httpx", "anyio"} & set(sys.modules)))
"""
    assert interpreter(program, fake()).stdout.strip() == "[]"


def test_a_host_without_standard_streams_has_servers(fake: Any, tmp_path: Any) -> None:
    output = tmp_path / "output"
    done = interpreter(
        f"""
for stream in range(3):
    os.close(stream)
from mcp_resident import sync
with sync.load_mcp(config) as source:
    result = source.tool("s_echo").execute({{"text": "heard"}})
with open({str(output)!r}, "w") as file:
    file.write(result.output)
os._exit(0)
""",
        fake(),
    )
    assert (done.returncode, output.read_text()) == (0, "heard")
