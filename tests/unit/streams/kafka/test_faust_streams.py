"""Only the wrapper takes from Faust's streams: every other way acknowledges what was not done
(delivery.md#folding).
"""

import ast
from collections.abc import Iterator

import pytest

from paths import LAYERS, ROOT

WRAPPER = ROOT / "streams" / "kafka" / "agent.py"
LOSING = {"take", "take_with_timestamp", "events", "noack", "noack_take", "through", "group_by"}


def ways_of_taking(tree: ast.AST) -> Iterator[str]:
    """Calls that iterate a stream, and iterations of something that is called a stream."""
    for found in ast.walk(tree):
        if (
            isinstance(found, ast.Call)
            and isinstance(found.func, ast.Attribute)
            and "stream" in _name(found.func.value)
        ):
            if found.func.attr in LOSING:
                yield found.func.attr
        elif isinstance(found, ast.AsyncFor | ast.comprehension) and "stream" in _name(found.iter):
            yield "async for"


def _name(expression: ast.expr) -> str:
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


@pytest.mark.parametrize(
    "text",
    [
        "async for event in stream: pass",
        "async for batch in stream.take(10, within=1): pass",
        "async for event in self.stream.events(): pass",
        "x = [value async for value in stream]",
    ],
)
def test_each_way_to_lose_messages_is_detected(text: str) -> None:
    assert list(ways_of_taking(ast.parse(f"async def f():\n {text}")))


def test_only_the_agent_module_reads_from_a_stream() -> None:
    files = [file for layer in LAYERS for file in sorted((ROOT / layer).rglob("*.py"))]
    texts = {file: text for file in files if "stream" in (text := file.read_text("utf-8"))}
    found = {file: list(ways_of_taking(ast.parse(text))) for file, text in texts.items()}
    assert {file: ways for file, ways in found.items() if ways} == {WRAPPER: ["events"]}
