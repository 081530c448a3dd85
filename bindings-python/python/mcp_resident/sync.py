"""The blocking twin of :mod:`mcp_resident`, with the same names.

Everything works from any thread. The GIL is released while a call waits, and Ctrl-C ends the wait and cancels what was
waited for. Progress is told on the thread that waits for the call; observers and ``wait_for`` run on threads of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Literal, cast

from . import _native, _options
from ._deliveries import COMPLETED, EVENT, FAILED, PROGRESS, QUESTION
from ._exit import close_at_exit
from ._handles import ExchangeHandle, SourceHandle, ToolHandle
from ._types import Request, answer_form

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from typing_extensions import Unpack

    from ._cancel import CancelToken
    from ._native import ToolResult
    from ._types import (
        CallContext,
        Config,
        Event,
        GivenAnswer,
        Observer,
        Options,
        Progress,
        ProjectTrust,
        Reloaded,
        ServerOptions,
        State,
        UntrustedServer,
        WaitFor,
    )

__all__ = ["Exchange", "McpSource", "Session", "Tool", "list_mcp_tools", "load_mcp", "open_session"]

SIGNALS_EVERY_MS = 100
"""How long a wait may be deaf to signals."""
FOR_EVER_MS = 3_600_000


def _outcome(
    queue: _native.Queue,
    operation: int,
    cancel: CancelToken | None = None,
    progress: Progress | None = None,
    asked: Callable[..., None] | None = None,
) -> Any:
    """Waits for an operation of a queue that nobody else takes from."""
    if cancel is not None:
        cancel.begin(queue, operation)
    try:
        while True:
            # In slices: Python runs signal handlers between them.
            while not queue.wait(SIGNALS_EVERY_MS):
                pass
            for kind, id, value in queue.take():
                if kind == COMPLETED:
                    return value
                if kind == FAILED:
                    raise value
                if kind == PROGRESS and progress is not None:
                    progress(value)
                elif kind == QUESTION and asked is not None:
                    asked(queue, id, *value)
    except BaseException:
        queue.cancel(operation)
        raise
    finally:
        if cancel is not None:
            cancel.end(operation)


class _Desk:
    """A thread that tells observers of events and hands out questions, while there is somebody to tell or to ask."""

    def __init__(self, wait_for: WaitFor | None) -> None:
        self.queue = _native.Queue(True)
        self.observers: dict[int, tuple[Observer, McpSource]] = {}
        self._wait_for = wait_for
        self._outcomes: dict[int, tuple[bool, Any]] = {}
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="mcp-resident-desk", daemon=True)
        self._thread.start()

    def outcome(self, operation: int, cancel: CancelToken | None = None) -> Any:
        """Waits for an operation that reports here."""
        if cancel is not None:
            cancel.begin(self.queue, operation)
        try:
            with self._changed:
                while operation not in self._outcomes:
                    self._changed.wait(SIGNALS_EVERY_MS / 1000)
                done, value = self._outcomes.pop(operation)
        except BaseException:
            self.queue.cancel(operation)
            raise
        finally:
            if cancel is not None:
                cancel.end(operation)
        if done:
            return value
        raise value

    def close(self) -> None:
        self.queue.close()
        if threading.current_thread() is not self._thread:
            self._thread.join(SIGNALS_EVERY_MS / 1000)

    def _work(self) -> None:
        while True:
            if not self.queue.wait(FOR_EVER_MS):
                if self.queue.is_closed():
                    return
                continue
            for kind, id, value in self.queue.take():
                if kind in (COMPLETED, FAILED):
                    with self._changed:
                        self._outcomes[id] = (kind == COMPLETED, value)
                        self._changed.notify_all()
                elif kind == EVENT:
                    _tell(self.observers.get(id), value)
                elif kind == QUESTION and self._wait_for is not None:
                    _ask(self._wait_for, self.queue, id, *value)


def _tell(told: tuple[Observer, McpSource] | None, event: Event) -> None:
    if told is not None:
        try:
            told[0](event)
        except Exception as error:
            raised = (type(error), error, error.__traceback__, threading.current_thread())
            threading.excepthook(threading.ExceptHookArgs(raised))


def _ask(wait_for: WaitFor, queue: _native.Queue, question: int, load: int, value: dict[str, Any]) -> None:
    """On a thread of its own: a person may take minutes."""

    def ask() -> None:
        request = Request(**value)
        text = "null"
        try:
            answer = wait_for(request)
            if isinstance(answer, Awaitable):
                answer = _awaited(answer)
            text = _native.to_json(answer_form(answer))
        finally:
            queue.answer(question, request.id, text)

    threading.Thread(target=ask, name="mcp-resident-question", daemon=True).start()


def _awaited(answer: Awaitable[GivenAnswer]) -> GivenAnswer:
    import asyncio

    async def wait() -> GivenAnswer:
        return await answer

    return asyncio.run(wait())


class Tool(ToolHandle):
    """One tool of one server; see :class:`mcp_resident.Tool`."""

    def execute(
        self,
        args: Any = None,
        ctx: CallContext | None = None,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> ToolResult:
        """Calls the tool and waits for its result; see :meth:`mcp_resident.Tool.execute`."""
        if ctx is not None:
            timeout = ctx.timeout if timeout is None else timeout
            progress = getattr(ctx, "progress", None) if progress is None else progress
        queue = _native.Queue(True)
        operation = self._native.execute(queue, args, None if timeout is None else timeout * 1000, progress is not None)
        return cast("ToolResult", _outcome(queue, operation, cancel, progress))


class McpSource(SourceHandle[Tool]):
    """The servers of a configuration, kept usable until :meth:`close`; see :class:`mcp_resident.McpSource`."""

    _tool_type = Tool

    def __init__(self, native: _native.Source, desk: _Desk | None) -> None:
        super().__init__(native)
        self._desk = desk

    def start(self, server: str, *, cancel: CancelToken | None = None) -> None:
        """Connects a server, unless that is done or under way."""
        queue = _native.Queue(True)
        _outcome(queue, self._native.start(queue, server), cancel)

    def stop(self, server: str) -> None:
        """Disconnects a server and waits until nothing of it is left."""
        queue = _native.Queue(True)
        _outcome(queue, self._native.stop(queue, server))

    def restart(self, server: str, *, cancel: CancelToken | None = None) -> None:
        """Disconnects a server and connects it again."""
        queue = _native.Queue(True)
        _outcome(queue, self._native.restart(queue, server), cancel)

    def refresh(self, server: str | None = None) -> None:
        """Lists a server's tools again, or those of all that are connected."""
        queue = _native.Queue(True)
        _outcome(queue, self._native.refresh(queue, server))

    def reload(self, config: Config | None = None, *, cancel: CancelToken | None = None) -> Reloaded:
        """Takes a new configuration in the place of the one that is there; without one, reads the file again."""
        queue = _native.Queue(True)
        text, is_path = (None, False) if config is None else _options.configuration(config)
        return cast("Reloaded", _outcome(queue, self._native.reload(queue, text, is_path), cancel))

    def wait_for(self, server: str, states: State | Iterable[State], timeout: float) -> State:
        """Waits until a server is in one of these states, for at most so many seconds."""
        queue = _native.Queue(True)
        wanted = [states] if isinstance(states, str) else list(states)
        return cast("State", _outcome(queue, self._native.wait_for(queue, server, wanted, timeout * 1000)))

    def close(self) -> None:
        """Disconnects every server and waits until nothing of them is left. Closing again is harmless."""
        with self._lock:
            desk, self._desk = self._desk, None
        if desk is None:
            queue = _native.Queue(True)
            _outcome(queue, self._native.close(queue))
        else:
            # Behind the last events, so that observers are told of them before this returns.
            desk.outcome(self._native.close(desk.queue))
            desk.close()

    def __enter__(self) -> McpSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _observe(self, interest: str, observer: Observer) -> Callable[[], None]:
        with self._lock:
            if self._desk is None:
                self._desk = _Desk(None)
            desk = self._desk
        subscription = self._native.subscribe(desk.queue, interest)
        # With the source: while it is observed it is not collected, which would close it.
        desk.observers[subscription] = (observer, self)

        def unsubscribe() -> None:
            desk.observers.pop(subscription, None)
            self._native.unsubscribe(subscription)

        return unsubscribe


class Exchange(ExchangeHandle[Tool]):
    """The tools of one exchange; see :class:`mcp_resident.Exchange`."""


class Session:
    """The servers of a user and a project; see :class:`mcp_resident.Session`."""

    def __init__(self, native: _native.Session, desk: _Desk | None) -> None:
        self._native = native
        self._source = McpSource(native.source(), desk)

    @property
    def source(self) -> McpSource:
        """The servers: their states, events and problems, and what can be done to each."""
        return self._source

    def exchange(self) -> Exchange:
        """Begins an exchange: waits for servers that are new or changed, and pins the tools that there are then."""
        queue = _native.Queue(True)
        native = _outcome(queue, self._native.exchange(queue))
        return Exchange(cast("_native.Exchange", native), self._source)

    def reload(self) -> Reloaded:
        """Reads the files again. What changed counts from the next exchange on."""
        queue = _native.Queue(True)
        return cast("Reloaded", _outcome(queue, self._native.reload(queue)))

    def trust(self, choice: ProjectTrust) -> Reloaded:
        """Decides anew what of the project's file may be started, and reads the files again."""
        queue = _native.Queue(True)
        return cast("Reloaded", _outcome(queue, self._native.trust(queue, _options.trust(choice))))

    @property
    def untrusted(self) -> list[UntrustedServer]:
        """What the project's file would start and is not trusted, for a person to decide on."""
        return self._native.untrusted()

    def close(self) -> None:
        """Ends the session: nothing of its servers is left when this returns. Closing again is harmless."""
        self._source.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_session(
    base_dir: str | os.PathLike[str],
    *,
    project_trust: ProjectTrust,
    user_config: str | os.PathLike[str] | None = None,
    project_config: str | os.PathLike[str] | None = None,
    exposure: Literal["direct", "hidden", "deferred"] | None = None,
    exchange_wait: float | None = None,
    wait_for: WaitFor | None = None,
    **options: Unpack[ServerOptions],
) -> Session:
    """Opens a session: reads its files and connects their servers; see :func:`mcp_resident.open_session`.

    >>> from mcp_resident import sync
    >>> with sync.open_session(".", project_trust="nothing") as session:
    ...     session.exchange().tools
    []
    """
    text = _options.session(base_dir, project_trust, user_config, project_config, exposure, exchange_wait, options)
    close_at_exit()
    if wait_for is None:
        queue = _native.Queue(True)
        return Session(_outcome(queue, queue.session(text, False)), None)
    desk = _Desk(wait_for)
    try:
        return Session(desk.outcome(desk.queue.session(text, True)), desk)
    except BaseException:
        desk.close()
        raise


def load_mcp(
    config: Config, wait_for: WaitFor | None = None, *, cancel: CancelToken | None = None, **options: Unpack[Options]
) -> McpSource:
    """Connects every server of a configuration and lists its tools; see :func:`mcp_resident.load_mcp`.

    >>> from mcp_resident import sync
    >>> with sync.load_mcp({"mcpServers": {}}) as source:
    ...     source.tools
    []
    """
    request = _options.request(config, options)
    close_at_exit()
    if wait_for is None:
        queue = _native.Queue(True)
        return McpSource(_outcome(queue, queue.load(*request, False), cancel), None)
    desk = _Desk(wait_for)
    try:
        return McpSource(desk.outcome(desk.queue.load(*request, True), cancel), desk)
    except BaseException:
        desk.close()
        raise


def list_mcp_tools(
    config: Config, wait_for: WaitFor | None = None, **options: Unpack[Options]
) -> list[dict[str, Any]]:
    """Connects every server, lists its tools, and disconnects; see :func:`mcp_resident.list_mcp_tools`."""
    request = _options.request(config, options)
    close_at_exit()
    queue = _native.Queue(True)

    def asked(queue: _native.Queue, question: int, load: int, value: dict[str, Any]) -> None:
        if wait_for is not None:
            _ask(wait_for, queue, question, load, value)

    return cast(
        "list[dict[str, Any]]", _outcome(queue, queue.inventory(*request, wait_for is not None), asked=asked)
    )
