"""/healthz, /readyz and /metrics of a running part have what its components registered, and only while they run."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from itertools import pairwise

import pytest
import yaml
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from common import skew
from common.errors import WrongUsage
from common.telemetry import COST, MOST_CONNECTIONS, REASONS_AT_MOST, STAGE_SECONDS, Figure, registered, served
from components import telemetry
from components.processes import HOST, free_port
from paths import LAYERS, ROOT
from waiting import PATIENCE_SECONDS, unhurried, until

pytestmark = pytest.mark.asyncio

COUNTED = Figure("counted", "counter", "Of the tests", ("what",))
WAITING = Figure("waiting", "gauge", "Of the tests")


async def get(path: str, port: int) -> tuple[int, str]:
    return await asyncio.to_thread(telemetry.get, port, path)


async def ready(port: int) -> tuple[int, dict[str, object]]:
    status, text = await get("readyz", port)
    return status, json.loads(text)


def values(text: str) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_a_part_is_not_ready_before_a_component_is_registered() -> None:
    port = free_port()
    async with served(HOST, port, "work"):
        assert await ready(port) == (503, {"part": "work", "ready": False, "reasons": ["it is starting"]})
        with registered({}):
            assert (await ready(port))[0] == 503, "figures of a database alone do not make a lander ready"
            with registered({}, tuple):
                assert await ready(port) == (200, {"part": "work", "ready": True, "reasons": []})
        assert (await get("healthz", port))[0] == 200


async def test_it_is_ready_without_a_reason_and_lists_the_reasons() -> None:
    port, wrong = free_port(), list[str]()
    async with served(HOST, port, "land"):
        with registered({}, lambda: wrong), registered({}):
            assert (await ready(port))[0] == 200
            wrong.append("the database is away")
            status, answer = await ready(port)
            assert (status, answer["reasons"]) == (503, ["the database is away"])
            assert values((await get("metrics", port))[1])["leadsman_ready", ()] == 0
            wrong.clear()
            assert values((await get("metrics", port))[1])["leadsman_ready", ()] == 1


async def test_reasons_have_no_secret_no_escapes_and_an_end() -> None:
    port = free_port()
    hostile = "http://u:canary@h refused \x1b[31m\n"
    async with served(HOST, port, "watch"):
        with registered({}, lambda: [hostile] + ["silent"] * 1000):
            text = (await get("readyz", port))[1]
    reasons = json.loads(text)["reasons"]
    assert "canary" not in text
    assert "\x1b" not in reasons[0]
    assert "\n" not in reasons[0]
    assert len(reasons) == REASONS_AT_MOST + 1
    assert reasons[-1] == f"and {1001 - REASONS_AT_MOST} more"


async def test_figures_of_two_components_are_summed_up_and_go_with_them() -> None:
    port = free_port()
    counts: dict[tuple[str, ...], float] = {("a",): 2.0, ('"}\n',): 1.0, ("\x1b\u202e",): 4.0}
    async with served(HOST, port, "work"):
        with registered({COUNTED: lambda: counts, WAITING: lambda: {(): 3}}):
            with registered({COUNTED: lambda: {("a",): 5}}):
                found = values((await get("metrics", port))[1])
                assert found["leadsman_counted_total", ("a",)] == 7
                assert found["leadsman_counted_total", ('"}\\n',)] == 1
                assert found["leadsman_counted_total", ("\\x1b\\u202e",)] == 4
                assert found["leadsman_waiting", ()] == 3
            assert values((await get("metrics", port))[1])["leadsman_counted_total", ("a",)] == 2
        assert "leadsman_counted" not in (await get("metrics", port))[1]


async def test_a_port_that_is_taken_is_reported_with_its_setting() -> None:
    port = free_port()
    async with served(HOST, port, "work"):
        with pytest.raises(WrongUsage, match=rf"telemetry\.port: 127\.0\.0\.1:{port} cannot be listened on"):
            async with served(HOST, port, "land"):
                pass


async def test_port_0_listens_nowhere() -> None:
    with pytest.raises(WrongUsage):
        async with served("no address", free_port(), "work"):
            pass
    async with served("no address", 0, "work"):
        pass


def _every_figure() -> list[Figure]:
    """Every metric that a module of ours defines, wherever it is."""
    texts = {file: file.read_text() for layer in LAYERS for file in (ROOT / layer).rglob("*.py")}
    defining = [file for file, text in texts.items() if " = Figure(" in text]
    modules = [import_module(".".join(file.relative_to(ROOT).with_suffix("").parts)) for file in defining]
    return [value for module in modules for value in vars(module).values() if isinstance(value, Figure)]


RULES = sorted((ROOT / "deploy/prometheus").glob("*.rules.yaml"))


async def test_figures_are_read_anew_when_they_are_scraped() -> None:
    figure, port = Figure("fresh", "gauge", "As it was read"), free_port()
    values_now: dict[tuple[str, ...], float] = {(): 0.0}

    async def refresh() -> None:
        values_now[()] += 1

    async with served(HOST, port, "work"):
        with registered({figure: lambda: values_now}, None, refresh):
            for times in (1.0, 2.0):
                assert values((await get("metrics", port))[1])["leadsman_fresh", ()] == times
    assert values_now == {(): 2.0}


async def test_each_metric_of_the_alert_rules_is_one_of_ours() -> None:
    rules = " ".join(each for file in RULES for each in _expressions(file.read_text()))
    used = set(re.findall(r"\bleadsman_\w+", re.sub(r"\w+:leadsman_\w+:\w+", "", rules)))
    port = free_port()
    STAGE_SECONDS.labels("fold").observe(1)
    skew.SECONDS.labels("kafka").set(0)
    with ExitStack() as stack:
        for figure in _every_figure():
            stack.enter_context(registered({figure: _one(figure)}))
        async with served(HOST, port, "work"):
            exported = {name for name, _ in values((await get("metrics", port))[1])}
    assert used
    assert used <= exported


def _one(figure: Figure) -> Callable[[], Mapping[tuple[str, ...], float]]:
    return lambda: {tuple("x" for _ in figure.labels): 1.0}


def _expressions(rules: str) -> list[str]:
    return [rule["expr"] for group in yaml.safe_load(rules)["groups"] for rule in group["rules"]]


async def test_every_alert_rule_says_what_is_wrong_and_what_to_do() -> None:
    for group in [group for file in RULES for group in yaml.safe_load(file.read_text())["groups"]]:
        for rule in [each for each in group["rules"] if "record" not in each]:
            assert re.fullmatch(r"Leadsman[A-Z]\w+", rule["alert"])
            assert rule["labels"]["severity"] in {"warning", "critical"}
            assert rule["annotations"].keys() == {"summary", "description"}


async def test_no_two_metrics_have_one_name() -> None:
    with ExitStack() as stack:
        for figure in _every_figure():
            stack.enter_context(registered({figure: _one(figure)}))
        names = [family.name for family in REGISTRY.collect()]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: "], ids=["silent", "heads that never end"])
async def test_connections_that_ask_nothing_keep_nobody_out(sent: bytes) -> None:
    """Kubelets' probes are answered, and the part has its files for its own work."""
    port = free_port()
    async with served(HOST, port, "land"):
        held = []
        for _ in range(3 * MOST_CONNECTIONS):
            held.append(await asyncio.open_connection(HOST, port))
            held[-1][1].write(sent)
        async with asyncio.timeout(unhurried(5)):
            assert (await get("healthz", port))[0] == 200
            ended = [await reader.read() for reader, _ in held[: 2 * MOST_CONNECTIONS]]
        for _, writer in held:
            writer.transport.abort()
    assert ended == [b""] * (2 * MOST_CONNECTIONS)


ASKED = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def test_many_who_ask_for_metrics_at_once_share_two_answers() -> None:
    """Each reading asks Kafka or the database, and stops the part's own work for as long as it takes."""
    port, reading, begun = free_port(), asyncio.Event(), list[int]()

    async def refresh() -> None:
        begun.append(len(begun))
        await reading.wait()

    async with served(HOST, port, "work"):
        with registered({WAITING: lambda: {(): len(begun)}}, tuple, refresh):
            first = asyncio.ensure_future(get("metrics", port))
            await until(lambda: begun)
            others = [await asyncio.open_connection(HOST, port) for _ in range(MOST_CONNECTIONS - 2)]
            for _, writer in others:
                writer.write(ASKED)
            assert (await get("healthz", port))[0] == 200, "what is asked for behind them is answered"
            reading.set()
            assert values((await first)[1])["leadsman_waiting", ()] == 1
            heads = [await reader.readline() for reader, _ in others]
            for _, writer in others:
                writer.transport.abort()
    assert heads == [b"HTTP/1.1 200 OK\r\n"] * len(heads)
    assert begun == [0, 1]


async def test_a_disconnecting_reader_does_not_cancel_others_answers() -> None:
    port, reading, begun = free_port(), asyncio.Event(), list[int]()

    async def refresh() -> None:
        begun.append(len(begun))
        await reading.wait()

    async with served(HOST, port, "work"):
        with registered({}, tuple, refresh):
            _, leaving = await asyncio.open_connection(HOST, port)
            leaving.write(ASKED)
            await until(lambda: begun)
            leaving.transport.abort()
            other = asyncio.ensure_future(get("metrics", port))
            reading.set()
            assert (await other)[0] == 200
            assert (await get("metrics", port))[0] == 200, "nor from those who come later"


async def test_readers_who_ask_without_end_take_a_part_of_the_time() -> None:
    """They would have all of it: who asked again at once would be answered at once."""
    loop = asyncio.get_running_loop()
    port, cost, times = free_port(), 0.02, list[float]()

    def slow() -> Mapping[tuple[str, ...], float]:
        times.append(loop.time())
        time.sleep(cost)  # what it costs to read many figures
        return {(): 1}

    async with served(HOST, port, "work"):
        with registered({WAITING: slow}, tuple):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(ASKED * 200)
            await until(lambda: len(times) > 3)
            writer.transport.abort()
    assert reader is not None
    assert all(later - earlier >= COST * cost for earlier, later in pairwise(times))


async def test_those_who_do_not_take_their_answers_keep_nobody_out() -> None:
    """A piece of one answer is held for each, until another needs the place."""
    port = free_port()
    async with served(HOST, port, "watch"):
        with registered({COUNTED: lambda: {(f"{number:0100}",): 1 for number in range(10_000)}}, tuple):
            held = [await asyncio.open_connection(HOST, port, limit=1) for _ in range(MOST_CONNECTIONS)]
            for _, writer in held:
                writer.write(ASKED * 3)
            await until(lambda: all(reader._buffer for reader, _ in held))  # type: ignore[attr-defined]  # as told
            async with asyncio.timeout(unhurried(5)):
                assert (await get("healthz", port))[0] == 200
            for _, writer in held:
                writer.transport.abort()


BODY = b"5\r\nhello\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"Content-Length: 5\r\nTransfer-Encoding: chunked", id="two lengths of a body"),
        pytest.param(b"Content-Length: 5\r\nContent-Length: 6", id="two different lengths"),
        pytest.param(b"Content-Length: +5", id="a length with a sign"),
        pytest.param(b"Content-Length: -1", id="a length below zero"),
        pytest.param(b"Transfer-Encoding: xchunked", id="an encoding that nobody knows"),
        pytest.param(b"Transfer-Encoding : chunked", id="a space before the colon"),
        pytest.param(b"X: a\r\n Transfer-Encoding: chunked", id="a header over two lines"),
        pytest.param(b"X: " + b"a" * 10_000, id="a header of 10 kB"),
        pytest.param(b"X: a\r\n" * 1000 + b"X: a", id="1,000 headers"),
    ],
)
async def test_a_second_request_cannot_be_smuggled_in(head: bytes) -> None:
    """An ambiguous request is refused, and its connection closed: nothing behind it is read as a request."""
    port = free_port()
    async with served(HOST, port, "work"), asyncio.timeout(PATIENCE_SECONDS):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"POST /healthz HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n\r\n" + BODY + ASKED)
        answer = await reader.read(-1)
        writer.transport.abort()
    assert answer.count(b"HTTP/1.") == 1
    assert re.match(rb"HTTP/1\.0 4(00|31) ", answer)


@pytest.mark.parametrize(("host", "status"), [("attacker.example", 421), ("localhost", 200), (HOST, 200)])
async def test_on_loopback_a_site_cannot_read_metrics_by_a_name_that_it_points_here(host: str, status: int) -> None:
    port = free_port()
    async with served(HOST, port, "work"):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(f"GET /metrics HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        head, body = (await asyncio.wait_for(reader.read(), unhurried(10))).decode().split("\r\n\r\n", 1)
        writer.close()
    assert head.startswith(f"HTTP/1.1 {status} ")
    assert ("leadsman_ready" in body) == (status == 200)


async def test_on_other_addresses_metrics_have_any_name() -> None:
    port = free_port()
    async with served("0.0.0.0", port, "work"):  # noqa: S104 - as in a pod, whose Service has a name
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: leadsman-work.example\r\nConnection: close\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), unhurried(10))
        writer.close()
    assert answer.startswith(b"HTTP/1.1 200 ")
