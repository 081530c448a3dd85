"""Values on their way in and out."""

from __future__ import annotations

import collections
import json
from typing import Any

import pytest

import mcp_resident
from mcp_resident import _errors, _native, sync


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        True,
        -0.5,
        2**64,
        -(2**200),
        "",
        "\0",
        "\u2028\U0001f600",
        {"b": 1, "a": [1, (2, 3), {"c": None}]},
        collections.OrderedDict(z=1, a=2),
        collections.ChainMap({"a": 1}),
    ],
)
def test_values_are_written_as_json(value: Any) -> None:
    expected = dict(value) if isinstance(value, collections.ChainMap) else value
    assert json.loads(_native.to_json(value)) == json.loads(json.dumps(expected))


def test_half_of_a_surrogate_pair_is_escaped() -> None:
    assert _native.to_json("a\ud800") == '"a\\ud800"'


def test_what_json_cannot_say_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    for value, error in [(float("nan"), ValueError), (float("inf"), ValueError), (circle, ValueError)]:
        with pytest.raises(error):
            _native.to_json(value)
    for value in [{1, 2}, b"", {1: 2}, object()]:
        with pytest.raises(TypeError):
            _native.to_json(value)


RESULT = (
    '{"content":[{"type":"text","text":"\\u00e9\\ud83d\\ude00\\ud800 \\/"}],"structuredContent":'
    '{"big":18446744073709551616,"deep":' + "[" * 200 + "]" * 200 + ',"f":1e2,"z":-0,"b":1,"a":2,"a":3}}'
)


def test_results_are_exact(fake: Any) -> None:
    with sync.load_mcp(fake()) as source:
        result = source.tool("s_raw").execute('{"result": ' + RESULT + "}")
        assert result.raw == RESULT
        assert result.content[0]["text"] == "\u00e9\U0001f600\ud800 /"
        value = result.structured_content
        assert value["big"] == 2**64 and isinstance(value["big"], int)
        assert value["f"] == 100.0 and isinstance(value["f"], float)
        assert list(value) == ["big", "deep", "f", "z", "b", "a"] and value["a"] == 3
        echoed = source.tool("s_structured").execute({"value": {"n": 2**70, "t": (1, 2)}})
        assert echoed.structured_content == {"n": 2**70, "t": [1, 2]}
        assert result.meta is None and "ToolResult" in repr(result)


def test_what_is_nested_too_deep_stays_text(fake: Any) -> None:
    deep = "[" * 5_000 + '"]"' + "]" * 5_000
    with sync.load_mcp(fake(), lambda _: {"ok": False}) as source:
        error = '{"code": -1, "message": "m", "data": ' + deep + "}"
        result = source.tool("s_raw_error").execute('{"error": ' + error + "}")
        assert result.metadata["error"]["kind"] == "protocol"
        value, depth = result.metadata["error"]["data"], 0
        while isinstance(value, list):
            value, depth = value[0], depth + 1
        assert depth < 500 and value.startswith("[[") and value.endswith("]]") and '"]"' in value
        events: list[Any] = []
        source.on_event(events.append)
        source.tool("s_log").execute('{"level": "info", "data": ' + deep + "}")
        schema = '{"type": "object", "properties": {"a": {"default": ' + deep + "}}}"
        asked = source.tool("s_elicit").execute('{"message": "who?", "schema": ' + schema + "}")
        assert not asked.is_error
    assert "server_log" in [event["event"] for event in events]


def test_every_code_has_a_class() -> None:
    errors, failures = _native.error_codes()
    assert set(errors) == set(_errors.CLASSES)
    assert len(set(_errors.CLASSES.values())) == len(errors)
    for kind in _errors.CLASSES.values():
        assert getattr(mcp_resident, kind.__name__) is kind
    assert "dropped" in failures
