"""What hosts write and read besides sources and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    Config = Union[str, os.PathLike[str], Mapping[str, Any]]
    """The path of an ``mcp.json``, or its content."""
    Observer = Callable[["Event"], object]
    StateObserver = Callable[[str, "State"], object]
    ToolsObserver = Callable[[str], object]
    Progress = Callable[[Any], object]
    GivenAnswer = Union["Answer", Mapping[str, Any], None]
    ProjectTrust = Union[Literal["all", "nothing"], Iterable[str]]
    """What of a project's file may be started: everything, nothing, or what has one of these fingerprints."""
    WaitFor = Callable[["Request"], Union[GivenAnswer, Awaitable[GivenAnswer]]]

State = Literal["stopped", "starting", "running", "error"]
"""Where a server stands."""
Status = Literal["connected", "failed", "disabled"]
"""How a server's newest attempt to connect ended."""
Event = dict[str, Any]
"""One thing that happened: ``sequence``, ``atMs``, ``server``, ``generation``, ``event``, and what its kind has."""


class AutoRestart(TypedDict, total=False):
    """How a lost server is started again by itself."""

    maxRetries: int
    """Attempts in a row."""
    backoffMs: int
    """The wait before the second attempt, in milliseconds; it doubles from there."""


class Reloaded(TypedDict):
    """What a new configuration changed: names of servers, in the order of the configuration."""

    added: list[str]
    """New servers, and those that could not be used before."""
    removed: list[str]
    """Servers that are gone."""
    restarted: list[str]
    """Servers that are started in another way, or were switched on or off: they are connected anew."""
    adjusted: list[str]
    """Servers with other settings on the connection that they have."""


class UntrustedServer(TypedDict):
    """What a project's file would start and nobody has allowed."""

    name: str
    """The entry's key."""
    launchLine: str
    """What would be started, in one line without secrets."""
    fingerprint: str
    """Changes with everything that changes what would be started: what to trust it by."""


class ServerOptions(TypedDict, total=False):
    """What a host chooses for servers, of a load and of a session alike."""

    resident: bool | None
    """One switch for hosts that run for days: restart, live list, safe environment, expansion in all fields."""
    auto_restart: bool | AutoRestart | None
    """Whether a lost server is started again by itself."""
    live_tool_list: bool | None
    """Whether a list that a server says it changed is fetched again."""
    default_inherit_env: list[str] | None
    """The variables that servers without their own ``inheritEnv`` inherit."""
    expand: Literal["headers", "all"] | None
    """Which fields are expanded."""
    cache_dir: str | os.PathLike[str] | None
    """Where listings of lazy servers are kept."""
    spill_dir: str | os.PathLike[str] | None
    """Where results are saved that are longer than ``maxOutputBytes``, or no text, until the close (SPEC 2.23)."""
    log_dir: str | os.PathLike[str] | None
    """Where ``mcp.log`` is written: what happens to servers, what they log, and their standard error (SPEC 2.24)."""
    environment: dict[str, str] | None
    """The variables that servers see, in place of the process's."""
    secret_commands: bool | None
    """Whether values that begin with ``!`` are run as commands."""
    limits: dict[str, int] | None
    """Limits by the keys of SPEC section 4; the unit is in the key's name."""
    guardian: bool | None
    """Whether a host that is killed takes its servers with it. On unless this says no."""
    replay_repeatable_calls: bool | None
    """Sends a call again that was running when the connection was lost, when its tool says that this does no harm."""
    validate_arguments: bool | None
    """Checks the arguments of each call with its tool's own schema before anything is sent (SPEC 2.21)."""
    client_info: dict[str, str] | None
    """How this host introduces itself: ``name`` and ``version``."""


class Options(ServerOptions, total=False):
    """What a host chooses of a load. Without any of it nothing restarts, nothing is followed, and everything is inherited."""

    wait: Literal["all", "ready", "none"] | int | None
    """For how many servers the load waits; a number is milliseconds."""
    base_dir: str | os.PathLike[str] | None
    """What relative paths are relative to."""


class Request:
    """What a server asks a person. The names are the same in every language."""

    __slots__ = ("id", "kind", "prompt", "url", "data", "expiresAt")

    id: str
    """Names the question."""
    kind: str
    """``input`` or ``authorization``."""
    prompt: str
    """The server's own words."""
    url: str | None
    """Where the person is to go, for ``authorization``. Show it whole, and open it only when the person agrees."""
    data: dict[str, Any] | None
    """For ``input``, ``{"schema": ...}``: which answer fits."""
    expiresAt: int
    """When the question ends without an answer, in milliseconds since 1970."""

    def __init__(
        self,
        id: str,
        kind: str,
        prompt: str,
        url: str | None = None,
        data: dict[str, Any] | None = None,
        expiresAt: int = 0,
    ) -> None:
        self.id = id
        self.kind = kind
        self.prompt = prompt
        self.url = url
        self.data = data
        self.expiresAt = expiresAt

    def __repr__(self) -> str:
        return f"Request(id={self.id!r}, kind={self.kind!r}, prompt={self.prompt!r})"


class Answer:
    """A person's answer."""

    __slots__ = ("id", "ok", "data", "reason")

    id: str
    """The id of the question."""
    ok: bool
    """Whether the person agreed."""
    data: Any
    """The values for a form, when ``ok``."""
    reason: str | None
    """Why not: ``declined``, ``cancelled`` or ``expired``."""

    def __init__(self, id: str, ok: bool, data: Any = None, reason: str | None = None) -> None:
        self.id = id
        self.ok = ok
        self.data = data
        self.reason = reason

    def __repr__(self) -> str:
        return f"Answer(id={self.id!r}, ok={self.ok!r}, reason={self.reason!r})"


class CallContext:
    """What a caller may say about one call."""

    __slots__ = ("timeout", "progress")

    timeout: float | None
    """How long the server may be silent, in seconds. Progress starts it anew."""
    progress: Progress | None
    """Is told of progress: the ``params`` of each notification."""

    def __init__(self, timeout: float | None = None, progress: Progress | None = None) -> None:
        self.timeout = timeout
        self.progress = progress


def answer_form(answer: GivenAnswer) -> dict[str, Any]:
    """An answer as its JSON form. What is none is a refusal."""
    if answer is None:
        return {"ok": False, "reason": "cancelled"}
    if isinstance(answer, Answer):
        return {"ok": answer.ok, "data": answer.data, "reason": answer.reason}
    if hasattr(answer, "get"):
        return {key: answer.get(key) for key in ("ok", "data", "reason")}
    # Any other object with the same attributes.
    return {key: getattr(answer, key, None) for key in ("ok", "data", "reason")}
