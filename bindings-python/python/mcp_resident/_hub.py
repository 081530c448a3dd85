"""One queue for each event loop: what arrives is handed to futures and callbacks on the loop's own thread."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, cast

from . import _native
from ._deliveries import COMPLETED, EVENT, FAILED, PROGRESS, QUESTION, QUESTION_ENDED
from ._types import Request, answer_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._cancel import CancelToken
    from ._types import GivenAnswer, WaitFor

_hubs: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def current() -> Hub:
    """The hub of the loop that runs here."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "mcp_resident needs a running asyncio event loop here; outside of one, or under trio, use mcp_resident.sync"
        ) from None
    hub = _hubs.get(loop)
    if hub is None:
        with _lock:
            for old in [old for old in _hubs if old.is_closed()]:
                _hubs.pop(old).close()
            hub = _hubs.setdefault(loop, Hub(loop))
        hub.watch(loop)
    return hub


class Hub:
    """Holds no reference to its loop that would keep it alive."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self.queue = _native.Queue(False)
        self.pending: dict[int, asyncio.Future[Any]] = {}
        self.progress: dict[int, Callable[[Any], object]] = {}
        self.observers: dict[int, tuple[Callable[[Any], object], object]] = {}
        self.wait_for: dict[int, WaitFor] = {}
        self._asking: dict[int, asyncio.Task[None]] = {}
        self._watched = False

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Takes deliveries on the loop's thread whenever some have arrived."""
        if self._watched:
            return
        self._watched = True
        try:
            loop.add_reader(self.queue.fileno(), self.take)
        except NotImplementedError:
            # Loops without readiness, such as those on completion ports.
            self.queue = _native.Queue(True)
            threading.Thread(target=_relay, args=(self.queue, self._loop, self.take), daemon=True).start()

    def close(self) -> None:
        self.queue.close()

    async def outcome(
        self, operation: int, cancel: CancelToken | None = None, progress: Callable[[Any], object] | None = None
    ) -> Any:
        """The outcome of an operation. Cancelling the task that waits cancels the operation."""
        loop = asyncio.get_running_loop()
        future = self.pending[operation] = loop.create_future()
        if cancel is not None:
            cancel.begin(self.queue, operation)
        if progress is not None:
            self.progress[operation] = progress
        try:
            return await future
        except asyncio.CancelledError:
            self.queue.cancel(operation)
            raise
        finally:
            self.pending.pop(operation, None)
            if cancel is not None:
                cancel.end(operation)
            if progress is not None:
                self.progress.pop(operation, None)

    def take(self) -> None:
        for kind, id, value in self.queue.take():
            if kind == COMPLETED:
                future = self.pending.pop(id, None)
                if future is not None and not future.done():
                    future.set_result(value)
            elif kind == FAILED:
                future = self.pending.pop(id, None)
                if future is not None and not future.done():
                    future.set_exception(value)
            elif kind == PROGRESS:
                self._tell(self.progress.get(id), value)
            elif kind == EVENT:
                told = self.observers.get(id)
                self._tell(told and told[0], value)
            elif kind == QUESTION:
                self._ask(id, *value)
            elif kind == QUESTION_ENDED:
                task = self._asking.pop(id, None)
                if task is not None:
                    task.cancel()

    def _tell(self, observer: Callable[[Any], object] | None, value: Any) -> None:
        if observer is None:
            return
        try:
            observer(value)
        except Exception as error:
            self._report("an observer of mcp_resident failed", error)

    def _report(self, message: str, error: BaseException) -> None:
        loop = self._loop()
        if loop is not None:
            loop.call_exception_handler({"message": message, "exception": error})

    def _ask(self, question: int, load: int, value: dict[str, Any]) -> None:
        loop = self._loop()
        if loop is None:
            return
        task = loop.create_task(self._answer(question, load, Request(**value)))
        self._asking[question] = task
        task.add_done_callback(lambda _: self._asking.pop(question, None))

    async def _answer(self, question: int, load: int, request: Request) -> None:
        text = "null"
        try:
            text = _native.to_json(answer_form(await _asked(self.wait_for[load], request)))
        except Exception as error:
            self._report("wait_for failed, which counts as a refusal", error)
        finally:
            # Also when the task is cancelled, as all are at the end of asyncio.run.
            self.queue.answer(question, request.id, text)


async def _asked(wait_for: WaitFor, request: Request) -> GivenAnswer:
    answer = wait_for(request) if asyncio.iscoroutinefunction(wait_for) else await _on_a_thread(wait_for, request)
    if isinstance(answer, Awaitable):
        answer = await answer
    return cast("GivenAnswer", answer)


async def _on_a_thread(wait_for: WaitFor, request: Request) -> Any:
    """A function that is not async may take minutes. On a thread of its own it holds up neither the loop nor its end."""
    loop = asyncio.get_running_loop()
    asked = loop.create_future()

    def settle(set_value: Callable[[Any], None], value: Any) -> None:
        if not asked.done():
            set_value(value)

    def ask() -> None:
        outcome: tuple[Callable[[Any], None], Any]
        try:
            outcome = (asked.set_result, wait_for(request))
        except Exception as error:
            outcome = (asked.set_exception, error)
        try:
            loop.call_soon_threadsafe(settle, *outcome)
        except RuntimeError:
            pass  # The loop has been closed: nobody waits any more.

    threading.Thread(target=ask, name="mcp-resident-question", daemon=True).start()
    return await asked


def _relay(
    queue: _native.Queue, loop: weakref.ref[asyncio.AbstractEventLoop], take: Callable[[], None]
) -> None:
    while True:
        if not queue.wait(3_600_000):
            if queue.is_closed():
                return
            continue
        target = loop()
        if target is None or target.is_closed():
            return
        taken = threading.Event()

        def on_loop() -> None:
            try:
                take()
            finally:
                taken.set()

        try:
            target.call_soon_threadsafe(on_loop)
        except RuntimeError:
            return
        del target
        taken.wait()
