"""`leadsman mcp`, asked by the protocol's own client: as a child process, and over HTTP."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from components.command import leadsman, start, succeeds
from leadsman.web.site.access import FREE_GUESSES
from waiting import PATIENCE_SECONDS

TOKEN = "0123456789abcdef0123"  # noqa: S105 - of this test


@pytest.fixture
def database(demo_folder: Path) -> Path:
    return demo_folder


@asynccontextmanager
async def child(database: Path) -> AsyncIterator[Client]:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "leadsman", "mcp", "--db", f"chdb://{database}"]
    )
    async with Client(command, read_timeout_seconds=PATIENCE_SECONDS) as client:
        yield client


async def answered(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.asyncio
async def test_the_tools_answer_as_the_commands_do(database: Path) -> None:
    async with child(database) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {
            "clusters",
            "story",
            "saved_questions",
            "ask_saved_question",
            "eviction_order",
            "fit",
            "sql",
        }
        clusters = {each["cluster"] for each in (await answered(client, "clusters"))["clusters"]}
        causes = await answered(client, "ask_saved_question", name="evicted_pods", parameters={"by": "cause"})
        saved = await answered(client, "saved_questions")
        fit = await answered(client, "fit", cpu="8", memory="16Gi", exclusive=True, cluster="late-joiners")
        counted = await answered(client, "sql", query="SELECT count() AS samples FROM node_samples")
        order = await answered(
            client, "eviction_order", node="real-node-1", cluster="lab", until="2026-11-21T04:20:00Z"
        )
        story = await answered(client, "story", cluster="lab", last="all", node="real-node-1")
    asked = json.loads(succeeds("query", "evicted_pods", "--by", "cause", "--format", "json", db=database))
    by_command = leadsman(
        "fit", "--cpu", "8", "--memory", "16Gi", "--exclusive", "--cluster", "late-joiners", "--format", "json",
        db=database,
    )  # fmt: skip
    samples = json.loads(
        succeeds("query", "--sql", "SELECT count() AS samples FROM node_samples", "--format", "json", db=database)
    )
    assert clusters == {"lab", "late-joiners"}
    assert causes == {"rows": asked, "cut": False}
    assert {
        "name": "depth",
        "type": "UInt32",
        "default": "1",
        "meaning": "number of pods of each order to show; 0 is all",
    } in next(each["parameters"] for each in saved["questions"] if each["name"] == "next_eviction")
    assert fit == json.loads(by_command.stdout)
    assert counted == {"rows": samples, "cut": False}
    # the kubelet ranks for each signal that has a threshold, and nothing was evicted yet
    places = {each["signal"]: each["places"] for each in order["orders"]}
    assert "memory.available" in places
    assert all([place["rank"] for place in each] == list(range(1, len(each) + 1)) for each in places.values())
    times = [row["ts"] for row in story["rows"]]
    assert times == sorted(times, reverse=True)
    assert {row["node"] for row in story["rows"]} == {"real-node-1"}


@pytest.mark.asyncio
async def test_a_tool_only_reads_and_says_what_is_wrong_with_a_question(database: Path) -> None:
    async with child(database) as client:
        assert "only SELECT, SHOW, DESCRIBE and EXPLAIN are answered here" in await refused(
            client, "sql", query="DROP TABLE nodes"
        )
        assert "the function file is not allowed" in await refused(
            client, "sql", query="SELECT * FROM file('/etc/passwd')"
        )
        assert "no saved query 'nothing'" in await refused(client, "ask_saved_question", name="nothing")
        assert "no cluster 'x'" in await refused(client, "story", cluster="x")
        assert "no node 'x'" in await refused(client, "eviction_order", node="x")
        assert "cpu" in await refused(client, "fit", cpu="many")
        assert "1 to 100 containers" in await refused(client, "fit", cpu="1", containers=10**9, cluster="lab")
        large = await answered(client, "sql", query="SELECT number FROM system.numbers LIMIT 100000")
        assert (len(large["rows"]), large["cut"]) == (500, True)
        unseen = "SELECT 'a' || char(0xE2, 0x80, 0xAE) || char(0xF3, 0xA0, 0x84, 0x80) AS x"
        assert (await answered(client, "sql", query=unseen))["rows"] == [{"x": "a\\u202e\\U000e0100"}]
        assert "larger than 4 MiB" in await refused(
            client, "sql", query="SELECT repeat('x', 20000) FROM system.numbers LIMIT 400"
        )


@pytest.fixture
def address(database: Path, tmp_path: Path) -> Iterator[str]:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    with start("mcp", "--http", "--port", "0", "--token-file", token, db=database) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("assistants are answered at "), line
        yield line.split()[4]
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
        logged = process.stderr.read()
        assert "Traceback" not in logged
        assert "evil.example" not in logged


@pytest.mark.asyncio
async def test_http_answers_only_requests_with_the_token(address: str) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE_SECONDS) as http:
        async with Client(streamable_http_client(address, http_client=http)) as client:
            assert (await answered(client, "clusters"))["clusters"]
        stream = {"Accept": "text/event-stream"}  # without end, and nothing is ever sent in it
        assert (await http.get(address, headers=stream)).status_code == 405
        # a page whose name somebody pointed here is refused, whatever it knows
        assert (await http.post(address, json={}, headers={"Host": "evil.example"})).status_code == 421
    async with httpx2.AsyncClient() as http:
        for header in ({}, {"Authorization": "Bearer wrong"}):
            answer = await http.post(address, json={}, headers=header)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer realm="leadsman"')
        statuses = set()
        for nth in range(FREE_GUESSES):  # whatever address a header names, it is the same that guesses
            guess = {"Authorization": f"Bearer {nth}", "X-Forwarded-For": f"192.0.2.{nth}"}
            statuses.add((await http.post(address, json={}, headers=guess)).status_code)
        assert statuses == {401, 429}


def test_other_machines_are_answered_with_a_token_only(database: Path) -> None:
    done = leadsman("mcp", "--http", "--host", "192.0.2.1", db=database)
    assert (done.returncode, "--token-file" in done.stderr) == (2, True)


def call(**other: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", **other}).encode()


ODD = {
    "no bytes": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"jsonrpc": "2.0", "id": "\xff", "method": "ping"}',
    "half a pair": b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}',
    "an empty batch": b"[]",
    "a batch": b"[" + call() + b"," + call(id=2) + b"]",
    "another version": call(jsonrpc="1.0"),
    "no version": b'{"id": 1, "method": "ping"}',
    "no method": b'{"jsonrpc": "2.0", "id": 1}',
    "an unknown method": call(method="shutdown"),
    "an answer that nobody asked for": b'{"jsonrpc": "2.0", "id": 7, "result": {}}',
    "an id beyond 64 bits": call(id=2**70),
    "an id that JSON cannot count": b'{"jsonrpc": "2.0", "method": "ping", "id": 1' + b"0" * 5000 + b"}",
    "a long id": call(id="x" * 10_000),
    "an id that is no id": call(id={"a": [1.5, None]}),
    "a number that is none": b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}',
    "parameters in a list": call(params=[1, 2]),
    "a tool that is none": call(method="tools/call", params={"name": 7, "arguments": "x"}),
    "an argument that is none": call(method="tools/call", params={"name": "story", "arguments": {"depth": {}}}),
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": '
    + b'{"a":' * 5000
    + b"1"
    + b"}" * 5001,
}


@pytest.mark.asyncio
async def test_an_odd_message_is_answered_over_http_and_ends_nothing(address: str) -> None:
    given = {
        "Authorization": f"Bearer {TOKEN}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    async with httpx2.AsyncClient(headers=given, timeout=PATIENCE_SECONDS) as http:
        for what, message in ODD.items():
            answer = await http.post(address, content=message)
            assert answer.status_code in {200, 202, 400}, what
        for version in ("x" * 1000, "1999-01-01"):
            answer = await http.post(address, content=call(), headers={"MCP-Protocol-Version": version})
            assert answer.status_code == 400
        async with Client(streamable_http_client(address, http_client=http)) as client:
            assert (await answered(client, "clusters"))["clusters"]


def test_an_odd_message_on_standard_input_ends_nothing(database: Path) -> None:
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    last = call(id="last", method="tools/call", params={"name": "clusters", "arguments": {}})
    messages = [call(method="initialize", params=begin), b'{"jsonrpc": "2.0", "method": "notifications/initialized"}']
    command, pipe = [sys.executable, "-m", "leadsman", "mcp", "--db", f"chdb://{database}"], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n".join([*messages, *ODD.values(), last, b""]))
        process.stdin.flush()
        answers = map(json.loads, process.stdout)
        assert "result" in next(each for each in answers if each.get("id") == "last")
        _, logged = process.communicate(timeout=PATIENCE_SECONDS)  # standard input ends
    assert process.returncode == 0
    assert b"Traceback" not in logged
