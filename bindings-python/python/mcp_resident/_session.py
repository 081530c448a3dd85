"""Sessions for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from . import _hub, _native, _options
from ._exit import close_at_exit
from ._handles import ExchangeHandle
from ._source import McpSource, Tool

if TYPE_CHECKING:
    import os
    from collections.abc import Generator
    from types import TracebackType

    from typing_extensions import Unpack

    from ._types import ProjectTrust, Reloaded, ServerOptions, UntrustedServer, WaitFor


class Exchange(ExchangeHandle[Tool]):
    """The tools of one exchange. They stay as they are, whatever servers do meanwhile."""


class Session:
    """The servers of a user and a project, used over many exchanges with a model, until :meth:`close`."""

    def __init__(self, native: _native.Session, hub: _hub.Hub, load: int) -> None:
        self._native = native
        self._source = McpSource(native.source(), hub, load)

    @property
    def source(self) -> McpSource:
        """The servers: their states, events and problems, and what can be done to each."""
        return self._source

    async def exchange(self) -> Exchange:
        """Begins an exchange: waits for servers that are new or changed, and pins the tools that there are then.

        Raises :class:`ClosedError` after :meth:`close`.
        """
        hub = _hub.current()
        native = await hub.outcome(self._native.exchange(hub.queue))
        return Exchange(cast("_native.Exchange", native), self._source)

    async def reload(self) -> Reloaded:
        """Reads the files again. What changed counts from the next exchange on."""
        hub = _hub.current()
        return cast("Reloaded", await hub.outcome(self._native.reload(hub.queue)))

    async def trust(self, choice: ProjectTrust) -> Reloaded:
        """Decides anew what of the project's file may be started, and reads the files again."""
        hub = _hub.current()
        operation = self._native.trust(hub.queue, _options.trust(choice))
        return cast("Reloaded", await hub.outcome(operation))

    @property
    def untrusted(self) -> list[UntrustedServer]:
        """What the project's file would start and is not trusted, for a person to decide on."""
        return self._native.untrusted()

    async def close(self) -> None:
        """Ends the session: nothing of its servers is left when this returns. Closing again is harmless."""
        await self._source.close()

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Opening:
    """A session that was asked for: ``await`` gives it, ``async with`` closes it at the end."""

    def __init__(self, options: str, wait_for: WaitFor | None) -> None:
        self._options = options
        self._wait_for = wait_for
        self._session: Session | None = None

    def __await__(self) -> Generator[Any, None, Session]:
        return self._open().__await__()

    async def __aenter__(self) -> Session:
        self._session = await self._open()
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def _open(self) -> Session:
        hub = _hub.current()
        close_at_exit()
        operation = hub.queue.session(self._options, self._wait_for is not None)
        if self._wait_for is not None:
            hub.wait_for[operation] = self._wait_for
        try:
            native = await hub.outcome(operation)
        except BaseException:
            hub.wait_for.pop(operation, None)
            raise
        return Session(native, hub, operation)


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
) -> Opening:
    """Opens a session: reads its files and connects their servers in the background (SPEC section 7).

    ``base_dir`` is what relative paths of both files are relative to. ``project_trust`` says what of the project's file may
    be started: ``"all"``, ``"nothing"``, or the fingerprints of :attr:`Session.untrusted` that a person allowed.
    ``exchange_wait``, in seconds, bounds how long an exchange waits for servers that are new or changed; 10 when left out.
    ``exposure`` counts for servers that say nothing about it. ``wait_for`` and the other options are those of
    :func:`load_mcp`; what is left out is what sessions want.

    Raises :class:`ConfigError` when an option cannot be used. A file or an entry that cannot be used is among
    ``session.source.problems``.

    >>> import asyncio, mcp_resident
    >>> async def main():
    ...     async with mcp_resident.open_session(".", project_trust="nothing") as session:
    ...         return (await session.exchange()).tools
    >>> asyncio.run(main())
    []
    """
    text = _options.session(base_dir, project_trust, user_config, project_config, exposure, exchange_wait, options)
    return Opening(text, wait_for)
