"""The face for asyncio."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import weakref
from typing import Any

import pytest

import mcp_resident
from conftest import descriptors, gone

LIMIT = 30


def run(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work, LIMIT))


def test_two_hundred_calls_at_once_each_get_their_own_answer(fake: Any) -> None:
    async def main() -> list[str]:
        async with mcp_resident.load_mcp(fake()) as source:
            echo = source.tool("s_echo")
            results = await asyncio.gather(*(echo.execute({"text": str(n)}) for n in range(200)))
            return [result.output for result in results]

    assert run(main()) == [str(n) for n in range(200)]


def test_loops_of_eight_threads_share_a_source(fake: Any) -> None:
    async def main() -> None:
        async with mcp_resident.load_mcp(fake()) as source:
            echo, failed = source.tool("s_echo"), []

            async def calls(thread: int) -> None:
                texts = [f"{thread}/{n}" for n in range(25)]
                results = await asyncio.gather(*(echo.execute({"text": text}) for text in texts))
                failed.extend(t for t, r in zip(texts, results) if r.output != t)

            threads = [threading.Thread(target=lambda n=n: run(calls(n))) for n in range(8)]
            for thread in threads:
                thread.start()
            await asyncio.gather(*(asyncio.to_thread(thread.join) for thread in threads))
            assert failed == []

    run(main())


def test_nothing_is_left_after_the_close_and_a_second_loop_works(fake: Any) -> None:
    async def main() -> None:
        async with mcp_resident.load_mcp(fake()) as source:
            assert (await source.tool("s_add").execute({"a": 1, "b": 2})).output == "3"

    run(main())
    gc.collect()
    before = descriptors()
    for _ in range(3):
        run(main())
    gc.collect()
    assert gone()
    # The hub of the newest loop goes when the next one is made.
    assert descriptors() <= before


def test_a_source_outlives_its_loop(fake: Any) -> None:
    source = run(_loaded(fake()))
    tool = source.tool("s_echo")

    async def again() -> str:
        output = (await tool.execute({"text": "again"})).output
        await source.close()
        return output

    assert run(again()) == "again"


async def _loaded(config: Any, **options: Any) -> mcp_resident.McpSource:
    return await mcp_resident.load_mcp(config, **options)


def test_cancelling_the_task_cancels_the_call(fake: Any) -> None:
    async def main() -> None:
        async with mcp_resident.load_mcp(fake()) as source:
            task = asyncio.create_task(source.tool("s_sleep").execute({"ms": 60_000}))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await source.tool("s_echo").execute({"text": "on"})).output == "on"

    run(main())


def test_cancelling_a_load_raises_and_leaves_nothing(fake: Any) -> None:
    async def main() -> None:
        hanging = fake('{"never_answer": ["initialize"]}')
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(mcp_resident.load_mcp(hanging)._load(), 0.05)
        token = mcp_resident.CancelToken()
        token.cancel()
        with pytest.raises(mcp_resident.CancelledError) as raised:
            await mcp_resident.load_mcp(hanging, cancel=token)
        assert raised.value.code == "cancelled"

    run(main())
    assert gone()


def test_fifty_calls_in_flight_when_the_server_is_killed(fake: Any) -> None:
    async def main() -> None:
        async with mcp_resident.load_mcp(fake(), resident=True) as source:
            sleep = source.tool("s_sleep")
            calls = [asyncio.create_task(sleep.execute({"ms": 60_000})) for _ in range(50)]
            # Each task starts its call; the call after them is answered when all of them have been sent.
            await asyncio.sleep(0)
            await source.tool("s_echo").execute({"text": "sent"})
            os.kill(source.info("s")["processId"], signal.SIGKILL)
            for result in await asyncio.gather(*calls):
                assert result.metadata["error"]["kind"] == "dropped"
                assert result.metadata["error"]["exit"] == {"signal": 9}
            assert (await source.tool("s_echo").execute({"text": "back"})).output == "back"

    run(main())


def test_observers_are_told_in_order_and_may_fail(fake: Any) -> None:
    async def main() -> None:
        reported: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        source = await mcp_resident.load_mcp(fake())
        states: list[Any] = []
        sequences: list[int] = []

        def failing(server: str, state: str) -> None:
            states.append((server, state))
            raise RuntimeError("an observer's own")

        unsubscribe = source.on_state_change(failing)
        source.on_event(lambda event: sequences.append(event["sequence"]))
        await source.restart("s")
        assert states == [("s", "stopped"), ("s", "starting"), ("s", "running")]
        assert len(reported) == 3
        unsubscribe()
        await source.close()
        assert len(states) == 3
        assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
        assert sequences[-1] == source.events()[-1]["sequence"]

    run(main())


def test_progress_comes_before_the_result(fake: Any) -> None:
    async def main() -> None:
        async with mcp_resident.load_mcp(fake()) as source:
            seen: list[Any] = []
            result = await source.tool("s_sleep").execute({"ms": 20, "progress_ms": 5}, progress=seen.append)
            count = len(seen)
            assert result.output == "slept" and count > 0
            await source.tool("s_echo").execute({"text": "x"})
            assert len(seen) == count

    run(main())


ELICIT = {"message": "who?", "schema": {"type": "object", "properties": {"name": {"type": "string"}}}}


@pytest.mark.parametrize("kind", ["sync", "async", "dict", "throws", "none", "awaitable"])
def test_wait_for_of_every_kind(fake: Any, kind: str) -> None:
    asked: list[mcp_resident.Request] = []

    def answer(request: mcp_resident.Request) -> Any:
        asked.append(request)
        if kind == "throws":
            raise RuntimeError("the host's own")
        if kind == "none":
            return None
        if kind == "dict":
            return {"ok": True, "data": {"name": "Ada"}}
        return mcp_resident.Answer(request.id, True, {"name": "Ada"})

    async def answer_async(request: mcp_resident.Request) -> Any:
        await asyncio.sleep(0)
        return answer(request)

    wait_for = answer_async if kind == "async" else (lambda r: answer_async(r)) if kind == "awaitable" else answer

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        async with mcp_resident.load_mcp(fake(), wait_for) as source:
            output = (await source.tool("s_elicit").execute(ELICIT)).output
            assert ("Ada" in output) == (kind not in ("throws", "none")), output
            assert [request.prompt for request in asked] == ["who?"]

    run(main())


def test_a_person_may_take_longer_than_the_calls_timeout_and_may_be_too_late(fake: Any) -> None:
    async def main() -> None:
        cancelled = asyncio.Event()

        async def never(request: mcp_resident.Request) -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        async with mcp_resident.load_mcp(fake(), never, limits={"personTimeoutMs": 50}) as source:
            result = await source.tool("s_elicit").execute(ELICIT, timeout=0.01)
            assert "cancel" in result.output
            await cancelled.wait()

    run(main())


def test_sources_of_one_loop_ask_their_own_person(fake: Any) -> None:
    def person(name: str) -> Any:
        return lambda request: {"ok": True, "data": {"name": name}}

    async def main() -> None:
        async with mcp_resident.load_mcp(fake(), person("Ada")) as one:
            async with mcp_resident.load_mcp(fake(), person("Bob")) as two:
                outputs = [(await s.tool("s_elicit").execute(ELICIT)).output for s in (one, two)]
                assert "Ada" in outputs[0] and "Bob" in outputs[1]

    run(main())


def test_a_tool_is_the_same_object_while_its_definition_is(fake: Any) -> None:
    async def main() -> None:
        async with mcp_resident.load_mcp(fake()) as source:
            tool = source.tool("s_echo")
            await source.refresh()
            assert source.tool("s_echo") is tool and tool in source.tools
            assert source.owner_of("s_echo") == ("s", "echo") and source.name_of("s", "echo") == "s_echo"
            assert tool.source == "mcp" and tool.input_schema["additionalProperties"] is False

    run(main())


def test_the_older_contract_is_a_drop_in(fake: Any, tmp_path: Any) -> None:
    class Context:
        signal = None
        timeout = 20.0
        answer = None

    async def main() -> None:
        source = await mcp_resident.load_mcp(fake())
        assert source.status == {"s": "connected"}
        by_name = {tool.name: tool for tool in source.tools}
        result = await by_name["s_echo"].execute({"text": "hi"}, Context())
        assert (result.output, result.is_error, result.metadata) == ("hi", False, {"server": "s", "tool": "echo"})
        await source.close()
        await source.close()

    run(main())


def test_errors_have_a_class_and_a_code(fake: Any) -> None:
    async def main() -> None:
        async with mcp_resident.load_mcp(fake()) as source:
            with pytest.raises(mcp_resident.UnknownServerError, match="there is no server `nobody`"):
                await source.restart("nobody")
            with pytest.raises(mcp_resident.UnknownServerError):
                source.state("nobody")
        with pytest.raises(mcp_resident.ConfigError):
            await mcp_resident.load_mcp("/nowhere/mcp.json")
        with pytest.raises(mcp_resident.ConfigError, match="`residents` is not known; there are: autoRestart"):
            await mcp_resident.load_mcp(fake(), residents=True)
        with pytest.raises(mcp_resident.ConfigError, match="`wait` must be"):
            await mcp_resident.load_mcp(fake(), wait="soon")

    run(main())


def test_outside_of_a_loop_the_way_out_is_named(fake: Any) -> None:
    async def load() -> None:
        await mcp_resident.load_mcp(fake())

    with pytest.raises(RuntimeError, match="mcp_resident.sync"):
        load().send(None)


def test_loops_that_cannot_watch_a_socket_work(fake: Any) -> None:
    class Loop(asyncio.SelectorEventLoop):
        def add_reader(self, *_: Any) -> None:
            raise NotImplementedError

        def _ensure_fd_no_transport(self, *_: Any) -> None: ...

        def _add_reader(self, fd: Any, callback: Any, *args: Any) -> Any:
            return super()._add_reader(fd, callback, *args)

    loop = Loop()

    async def main() -> list[str]:
        async with mcp_resident.load_mcp(fake()) as source:
            echo = source.tool("s_echo")
            results = await asyncio.gather(*(echo.execute({"text": str(n)}) for n in range(50)))
            return [result.output for result in results]

    try:
        assert loop.run_until_complete(asyncio.wait_for(main(), LIMIT)) == [str(n) for n in range(50)]
    finally:
        loop.close()


def test_who_has_only_a_tool_still_has_the_source(fake: Any) -> None:
    async def main() -> None:
        echo = (await mcp_resident.load_mcp(fake())).tool("s_echo")
        gc.collect()
        assert (await echo.execute({"text": "there"})).output == "there"
        del echo
        gc.collect()

    run(main())
    assert gone()


def test_a_closed_source_is_forgotten_with_its_observers(fake: Any) -> None:
    async def main() -> None:
        source = await mcp_resident.load_mcp(fake(), lambda _: None)
        source.on_event(lambda _: None)
        await source.close()
        gone_with_it = weakref.ref(source)
        del source
        gc.collect()
        assert gone_with_it() is None

    run(main())


def test_a_person_who_never_answers_does_not_hold_the_end_of_the_loop(fake: Any) -> None:
    never = threading.Event()

    async def main() -> None:
        source = await mcp_resident.load_mcp(fake(), lambda _: never.wait())
        asked = asyncio.create_task(source.tool("s_elicit").execute(ELICIT))
        while not any(thread.name == "mcp-resident-question" for thread in threading.enumerate()):
            await asyncio.sleep(0)
        asked.cancel()
        await source.close()

    run(main())
    never.set()
    assert gone()


def test_a_timeout_that_is_over_already_is_a_timeout(fake: Any) -> None:
    async def main() -> None:
        async with mcp_resident.load_mcp(fake()) as source:
            for timeout in (0, -1.0, 0.0001):
                result = await source.tool("s_sleep").execute({"ms": 60_000}, timeout=timeout)
                assert result.metadata["error"]["kind"] == "timeout"
            with pytest.raises(mcp_resident.TimedOutError):
                await source.wait_for("s", "stopped", -1)

    run(main())
