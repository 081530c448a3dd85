"""The blocking face."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import mcp_resident
from conftest import descriptors, gone
from mcp_resident import sync


def test_two_hundred_calls_from_eight_threads(fake: Any) -> None:
    with sync.load_mcp(fake()) as source, ThreadPoolExecutor(8) as pool:
        echo = source.tool("s_echo")
        outputs = pool.map(lambda n: echo.execute({"text": str(n)}).output, range(200))
        assert list(outputs) == [str(n) for n in range(200)]


def test_nothing_is_left_after_the_close(fake: Any) -> None:
    with sync.load_mcp(fake()):
        pass
    assert gone()
    before, threads = descriptors(), threading.active_count()
    with sync.load_mcp(fake(), lambda _: None) as source:
        source.on_event(lambda _: None)
    assert gone()
    assert (descriptors(), threading.active_count()) == (before, threads)


def test_fifty_calls_in_flight_when_the_server_is_killed(fake: Any) -> None:
    with sync.load_mcp(fake(), resident=True) as source, ThreadPoolExecutor(50) as pool:
        sleep = source.tool("s_sleep")
        begun = threading.Barrier(51)

        def call(_: int) -> Any:
            begun.wait()
            return sleep.execute({"ms": 60_000, "progress_ms": 1}, progress=seen.append)

        seen: list[Any] = []
        calls = [pool.submit(call, n) for n in range(50)]
        begun.wait()
        while len(source.events()) and source.info("s")["state"] == "running" and len(seen) < 500:
            source.tool("s_echo").execute({"text": "x"})
        os.kill(source.info("s")["processId"], signal.SIGKILL)
        kinds = {call.result(30).metadata["error"]["kind"] for call in calls}
        assert kinds == {"dropped"}
        assert source.tool("s_echo").execute({"text": "back"}).output == "back"


def test_a_token_cancels_from_another_thread(fake: Any) -> None:
    with sync.load_mcp(fake()) as source, ThreadPoolExecutor(1) as pool:
        token = mcp_resident.CancelToken()
        call = pool.submit(source.tool("s_sleep").execute, {"ms": 60_000}, cancel=token)
        token.cancel()
        assert call.result(30).metadata["error"]["kind"] == "cancelled"


def test_ctrl_c_ends_the_wait(fake: Any) -> None:
    with sync.load_mcp(fake()) as source:
        timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            source.tool("s_sleep").execute({"ms": 60_000})
        assert source.tool("s_echo").execute({"text": "on"}).output == "on"


def test_observers_are_told_before_the_close_returns(fake: Any) -> None:
    source = sync.load_mcp(fake())
    states: list[str] = []
    source.on_state_change(lambda _, state: states.append(state))
    source.restart("s")
    source.close()
    assert states == ["stopped", "starting", "running", "stopped"]
    source.close()


@pytest.mark.parametrize("kind", ["sync", "async", "throws"])
def test_wait_for_of_every_kind(fake: Any, kind: str) -> None:
    async def async_answer(request: mcp_resident.Request) -> Any:
        return {"ok": True, "data": {"name": "Ada"}}

    def answer(request: mcp_resident.Request) -> Any:
        if kind == "throws":
            raise RuntimeError("the host's own")
        return async_answer(request) if kind == "async" else {"ok": True, "data": {"name": "Ada"}}

    hook, threading.excepthook = threading.excepthook, lambda _: None
    try:
        with sync.load_mcp(fake(), answer) as source:
            output = source.tool("s_elicit").execute({"message": "who?"}).output
            assert ("Ada" in output) == (kind != "throws")
    finally:
        threading.excepthook = hook


def test_waiting_works_while_others_hold_the_gil(fake: Any) -> None:
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            sum(range(1000))

    spinning = [threading.Thread(target=spin, daemon=True) for _ in range(2)]
    with sync.load_mcp(fake()) as source:
        for thread in spinning:
            thread.start()
        echo = source.tool("s_echo")
        assert [echo.execute({"text": str(n)}).output for n in range(20)] == [str(n) for n in range(20)]
        stop.set()


def test_inventory_and_states(fake: Any) -> None:
    entries = sync.list_mcp_tools(fake())
    assert entries[0]["status"] == "connected"
    assert "echo" in [tool["name"] for tool in entries[0]["tools"]]
    with sync.load_mcp(fake(), wait="none") as source:
        assert source.wait_for("s", ["running"], 20) == "running"
