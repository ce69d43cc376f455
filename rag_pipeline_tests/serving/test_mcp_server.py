import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.errors import MissingExtra
from rag_pipeline.schema import Principal
from rag_pipeline.serving.mcp_server import create_mcp, prompt
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import SECRET_WORD, settings_of

mcp = pytest.importorskip("mcp")


def talk(served: Served, say: Callable[[Any], Awaitable[Any]], *, principal: Principal | None = None) -> Any:
    """What `say` gets from a client that is connected to the server."""

    async def conversation() -> Any:
        async with mcp.Client(create_mcp(settings_of(served), principal=principal)) as client:
            return await say(client)

    return asyncio.run(conversation())


def call(served: Served, *, principal: Principal | None = None, **arguments: Any) -> tuple[bool, str]:
    result = talk(served, lambda client: client.call_tool("retrieve", arguments), principal=principal)
    return bool(result.is_error), result.content[0].text


def test_what_it_offers(served: Served) -> None:
    tools = talk(served, lambda client: client.list_tools()).tools
    assert [tool.name for tool in tools] == ["retrieve"]
    assert tools[0].input_schema["required"] == ["query"]
    assert "principal" not in json.dumps(tools[0].input_schema)
    prompts = talk(served, lambda client: client.list_prompts()).prompts
    assert {p.name for p in prompts} == {"diagnose_retrieval", "build_and_query"}


def test_a_context_with_numbered_passages(served: Served) -> None:
    failed, text = call(served, query="pump oil", max_chunks=1)
    assert not failed
    assert text.startswith("# Retrieved Knowledge") and '<passage id="1">' in text and "The pump moves oil." in text


def test_explained(served: Served) -> None:
    failed, text = call(served, query="pump oil", explain=True, strategy="bm25")
    assert not failed
    assert json.loads(text)["result"]["chunks"][0]["scores"]["bm25"] > 0


def test_nothing_found(served: Served) -> None:
    assert call(served, query="pump", filters={"language": "xx"}) == (False, "Nothing found (filter_empty).")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"query": " "}, "nothing to search for"),
        ({"query": "x", "filters": {"colour": "red"}}, "known: author"),
        ({"query": "x", "filters": {"tags": [[1]]}}, "one object of operators"),
        ({"query": "x", "strategy": "hybird"}, "did you mean 'hybrid'"),
        ({"query": "x", "collection": "tset"}, "did you mean 'test'"),
        ({"query": "x", "max_chunks": 0}, "max_chunks"),
    ],
    ids=str,
)
def test_mistakes_are_explained_to_the_agent(served: Served, arguments: dict[str, Any], part: str) -> None:
    failed, text = call(served, **arguments)
    assert failed and part in text
    assert str(served.home.root) not in text


def test_the_reader_is_fixed_when_the_server_starts(served: Served) -> None:
    query = "budget nine million"
    assert SECRET_WORD not in call(served, query=query)[1]
    assert SECRET_WORD not in call(served, query=query, principal=Principal("bob"))[1]
    assert SECRET_WORD in call(served, query=query, principal=Principal("ruth", ("finance",)))[1]


def test_prompts(served: Served) -> None:
    asked = {"question": "why {{expected}}?", "explanation": '{"a": {}}'}
    result = talk(served, lambda client: client.get_prompt("diagnose_retrieval", asked))
    text = result.messages[0].content.text
    assert "why {{expected}}?" in text and '{"a": {}}' in text and "unknown" in text
    taught = talk(served, lambda client: client.get_prompt("build_and_query", {"task": "index the handbook"}))
    assert "Task: index the handbook" in taught.messages[0].content.text


@pytest.mark.parametrize("name", ["diagnose_retrieval", "build_and_query"])
def test_no_place_is_left_unfilled(name: str) -> None:
    filled = prompt(name, question="q", expected="e", explanation="x", task="t")
    assert not re.search(r"\{\{\w+\}\}", filled)


def test_over_stdio(tmp_path: Path, served: Served) -> None:
    """The command itself: nothing but the protocol on stdout, and an error that is told before a release exists."""
    from mcp.client.stdio import StdioServerParameters

    code = "import sys; from rag_pipeline.cli.main import main; main(sys.argv[1:])"
    arguments = ["-P", "-c", code, "mcp", "--home", str(tmp_path / "none")]
    command = StdioServerParameters(command=sys.executable, args=arguments)

    async def conversation() -> Any:
        async with mcp.Client(command) as client:
            return await client.call_tool("retrieve", {"query": "pump"})

    result = asyncio.run(conversation())
    assert result.is_error and "unknown collection" in result.content[0].text


def test_without_the_extra(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(MissingExtra, match=r"\[mcp\]"):
        create_mcp(settings_of(served))
