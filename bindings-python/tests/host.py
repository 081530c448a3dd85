"""The host program for Python: does through the public API what the driver asks, and tells what it saw.

``host.py`` is the asyncio face, ``host.py --sync`` the blocking one. What a host does is in the README of the fixtures.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sys
import threading
from typing import Any

import mcp_resident
from mcp_resident import sync

_output = threading.Lock()


def tell(line: dict[str, Any]) -> None:
    with _output:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def read(line: str) -> tuple[int, str, dict[str, Any]]:
    """A request. Arguments stay text: to read ``1e2`` as a number of Python's would write it as ``100.0``."""
    asked = json.loads(line)
    if "arguments" in asked:
        start = line.index('"arguments":') + len('"arguments":')
        start += len(line[start:]) - len(line[start:].lstrip())
        _, end = json.JSONDecoder().raw_decode(line, start)
        asked["arguments"] = line[start:end]
    return asked.pop("id"), asked.pop("do"), asked


def keywords(options: dict[str, Any]) -> dict[str, Any]:
    """The options as Python writes them."""
    return {re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name): value for name, value in options.items()}


def seconds(asked: dict[str, Any]) -> float | None:
    return None if asked.get("timeoutMs") is None else asked["timeoutMs"] / 1000


def described(tool: Any) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "server": tool.server,
        "serverTool": tool.server_tool,
        "inputSchema": tool.schema_json("input"),
        "serverSchema": tool.schema_json("server"),
    }


class Host:
    """What both faces have in common. What a face makes wait is awaited when it is awaitable."""

    def __init__(self, face: Any) -> None:
        self.face = face
        self.source: Any = None
        self.session: Any = None
        self.exchange: Any = None
        self.remembered: dict[str, list[Any]] = {}
        self.questions: dict[int, Any] = {}
        self.running: dict[int, mcp_resident.CancelToken] = {}

    def find(self, name: str, label: str | None = None) -> Any:
        if label is None:
            found = (self.exchange or self.source).tool(name)
        else:
            found = next((tool for tool in self.remembered[label] if tool.name == name), None)
        if found is None:
            raise LookupError(f"there is no tool {name!r}")
        return found

    def listed(self) -> Any:
        """The tools that all requests are about: an exchange's, once one was begun."""
        if self.session is None:
            return self.source.tools
        return [] if self.exchange is None else self.exchange.tools

    def options(self, asked: dict[str, Any]) -> dict[str, Any]:
        options = keywords(asked["options"])
        if asked.get("asks"):
            options["wait_for"] = self.wait_for
        if "exchange_wait_ms" in options:
            options["exchange_wait"] = options.pop("exchange_wait_ms") / 1000
        return options

    def config(self, asked: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return asked["config"], self.options(asked)

    def take_over(self, loaded: Any) -> None:
        source = getattr(loaded, "source", loaded)
        self.session = None if source is loaded else loaded
        self.exchange = None
        self.source = source
        source.on_event(lambda event: tell({"event": event}))

    def at_once(self, do: str, asked: dict[str, Any]) -> Any:
        """What nobody has to wait for."""
        source = self.source
        if do == "tools":
            return [described(tool) for tool in self.listed()]
        if do == "untrusted":
            return self.session.untrusted
        if do == "status":
            return source.status
        if do == "state":
            return source.state(asked["server"])
        if do == "info":
            info = source.info(asked["server"])
            return info | {"lastError": (info.get("lastError") or {}).get("message")}
        if do == "problems":
            return source.problems
        if do == "events":
            return source.events(asked["after"])
        if do == "remember":
            self.remembered[asked["label"]] = self.listed()
            return None
        if do == "same_tool":
            return self.find(asked["tool"]) is self.find(asked["tool"], asked["since"])
        raise LookupError(f"no request is called {do!r}")

    def begin(self, id: int, do: str, asked: dict[str, Any]) -> Any:
        """What takes time: a value, or something to await."""
        cancel = self.running[id]
        source, server = self.source, asked.get("server")
        if do == "execute":
            tool = self.find(asked["tool"], asked.get("remembered"))
            return tool.execute(asked.get("arguments"), timeout=seconds(asked), cancel=cancel)
        if do in ("start", "restart"):
            return getattr(source, do)(server, cancel=cancel)
        if do in ("stop", "refresh"):
            return getattr(source, do)(server)
        if do == "open":
            return self.face.open_session(**self.options(asked))
        if do == "exchange":
            return self.session.exchange()
        if do == "trust":
            return self.session.trust(asked["choice"])
        if do == "reload" and self.session is not None:
            return self.session.reload()
        if do == "reload":
            return source.reload(asked.get("config"), cancel=cancel)
        if do == "wait_for":
            return source.wait_for(server, asked["states"], seconds(asked))
        if do == "close":
            return source.close()
        if do in ("load", "inventory"):
            config, options = self.config(asked)
            if do == "load":
                return self.face.load_mcp(config, cancel=cancel, **options)
            return self.face.list_mcp_tools(config, **options)
        return self.at_once(do, asked)

    def finish(self, do: str, value: Any) -> Any:
        if do == "execute":
            return {"output": value.output, "isError": value.is_error, "metadata": value.metadata}
        if do == "inventory":
            return [entry | {"error": (entry.get("error") or {}).get("message")} for entry in value]
        if do in ("load", "open"):
            self.take_over(value)
            return None
        if do == "exchange":
            self.exchange = value
            return None
        return value

    def failed(self, id: int, error: BaseException) -> None:
        if isinstance(error, mcp_resident.McpError):
            tell({"id": id, "error": {"kind": error.code, "server": error.server, "message": str(error)}})
        else:
            tell({"id": id, "error": {"kind": "host", "message": f"{type(error).__name__}: {error}"}})

    def asked_of_a_person(self, request: mcp_resident.Request, answer: Any) -> None:
        number = len(self.questions)
        self.questions[number] = answer
        fields = {name: getattr(request, name) for name in mcp_resident.Request.__slots__}
        tell({"question": number, "request": {k: v for k, v in fields.items() if v is not None}})


class AsyncHost(Host):
    def __init__(self) -> None:
        super().__init__(mcp_resident)
        self.tasks: set[asyncio.Task[None]] = set()

    async def wait_for(self, request: mcp_resident.Request) -> Any:
        answer = asyncio.get_running_loop().create_future()
        self.asked_of_a_person(request, answer)
        return await answer

    async def carry_out(self, id: int, do: str, asked: dict[str, Any]) -> None:
        try:
            value = self.begin(id, do, asked)
            if inspect.isawaitable(value):
                value = await value
            tell({"id": id, "ok": self.finish(do, value)})
        except Exception as error:
            self.failed(id, error)

    def take(self, line: str) -> None:
        id, do, asked = read(line)
        if do == "cancel":
            self.running[asked["request"]].cancel()
            tell({"id": id, "ok": None})
        elif do == "answer":
            self.questions[asked["question"]].set_result(asked["answer"])
            tell({"id": id, "ok": None})
        else:
            self.running[id] = mcp_resident.CancelToken()
            self.tasks.add(asyncio.create_task(self.carry_out(id, do, asked)))

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=2**30)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            self.take(line.decode())


class SyncHost(Host):
    def __init__(self) -> None:
        super().__init__(sync)

    def wait_for(self, request: mcp_resident.Request) -> Any:
        answered, answers = threading.Event(), []
        self.asked_of_a_person(request, (answered, answers))
        answered.wait()
        return answers[0]

    def carry_out(self, id: int, do: str, asked: dict[str, Any]) -> None:
        try:
            tell({"id": id, "ok": self.finish(do, self.begin(id, do, asked))})
        except Exception as error:
            self.failed(id, error)

    def run(self) -> None:
        for line in sys.stdin:
            id, do, asked = read(line)
            if do == "cancel":
                self.running[asked["request"]].cancel()
                tell({"id": id, "ok": None})
            elif do == "answer":
                answered, answers = self.questions[asked["question"]]
                answers.append(asked["answer"])
                answered.set()
                tell({"id": id, "ok": None})
            else:
                self.running[id] = mcp_resident.CancelToken()
                threading.Thread(target=self.carry_out, args=(id, do, asked), daemon=True).start()


if __name__ == "__main__":
    if "--sync" in sys.argv:
        SyncHost().run()
    else:
        asyncio.run(AsyncHost().run())
