"""What a tool is for asyncio and for threads alike: everything but its call."""

from __future__ import annotations

from typing import Any

from . import _native


class ToolHandle:
    """What is known of a tool."""

    __slots__ = ("__weakref__", "_native", "_owner", "_schemas")

    def __init__(self, native: _native.Tool, owner: object) -> None:
        self._native = native
        # Who has only tools still has their source: it is not collected, which would close it.
        self._owner = owner
        self._schemas: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The name for a model: at most 64 characters of ``[A-Za-z0-9_-]``, unique in its source."""
        return self._native.name

    @property
    def description(self) -> str:
        """What the tool does, in the server's words."""
        return self._native.description

    @property
    def title(self) -> str | None:
        """The tool's title for people."""
        return self._native.title

    @property
    def source(self) -> str:
        """Always ``mcp``."""
        return "mcp"

    @property
    def server(self) -> str:
        """The server's name in the configuration."""
        return self._native.server

    @property
    def server_tool(self) -> str:
        """The tool's own name on its server."""
        return self._native.server_tool

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema of arguments for a model: the server's, as a closed object."""
        schema: dict[str, Any] = self._schema("input")
        return schema

    @property
    def server_schema(self) -> Any:
        """The schema of arguments as the server gave it."""
        return self._schema("server")

    @property
    def output_schema(self) -> Any:
        """The schema of ``structured_content``, when the server gave one."""
        return self._schema("output")

    @property
    def annotations(self) -> Any:
        """The server's hints about the tool. They are claims of the server, not facts."""
        return self._schema("annotations")

    def schema_json(self, which: str = "input") -> str | None:
        """The text of a schema, its numbers as the server wrote them: ``input``, ``server``, ``output``, ``annotations``."""
        return self._native.schema_json(which)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    def _schema(self, which: str) -> Any:
        if which not in self._schemas:
            self._schemas[which] = self._native.schema(which)
        return self._schemas[which]
