"""The pictures of `docs/architecture.md` against the imports and the topics."""

import re

import grimp
import pytest

from generate.pictures import ARROWS, BOXES
from ingest.model.topics import topics
from paths import LAYERS, ROOT


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*LAYERS)


@pytest.fixture(scope="module")
def ranks() -> dict[str, int]:
    """The packages as they are drawn; the highest has rank 0."""
    drawn = re.findall(r'data-package="([\w.]+)" data-rank="(\d+)"', (ROOT / "docs/layers.svg").read_text("utf-8"))
    return {package: int(rank) for package, rank in drawn}


def package_of(module: str, ranks: dict[str, int]) -> str:
    """The package that a module is in, or empty if it is in none."""
    parts = module.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in ranks), "")


def test_every_module_is_in_a_drawn_package(graph: grimp.ImportGraph, ranks: dict[str, int]) -> None:
    above = {*LAYERS, "leadsman.__main__", "leadsman.faust", "leadsman.web"}
    assert {module for module in graph.modules if not package_of(module, ranks)} == above - {"common"}


def test_imports_point_down_in_the_picture_of_the_layers(graph: grimp.ImportGraph, ranks: dict[str, int]) -> None:
    """Imports from a package to one below it; packages side by side do not import each other."""
    wrong = [
        f"{importer} imports {imported}"
        for importer in graph.modules
        for imported in graph.find_modules_directly_imported_by(importer)
        if (high := package_of(importer, ranks)) and (low := package_of(imported, ranks))
        if high != low and ranks[high] >= ranks[low]
    ]
    assert wrong == []


def test_the_packages_of_the_page_are_those_of_the_picture(ranks: dict[str, int]) -> None:
    page = (ROOT / "docs/architecture.md").read_text("utf-8").partition("## Where does a rule")[0]
    assert set(re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE)) == set(ranks)


def test_the_way_of_an_observation_passes_every_topic() -> None:
    drawn = [name for box in BOXES.values() if box.kind == "topic" for name in box.names]
    assert sorted(drawn) == sorted(topic.name for topic in topics())


@pytest.mark.parametrize("arrow", ARROWS, ids=lambda arrow: f"{arrow.start} to {arrow.end}")
def test_packages_that_an_arrow_connects_are_wired(arrow: tuple[str, str, float], graph: grimp.ImportGraph) -> None:
    """One imports the other, or a package above both imports both."""
    start, end = (BOXES[name] for name in arrow[:2])
    for box in (start, end):
        assert box.kind != "package" or graph.modules >= set(box.names)
    if {start.kind, end.kind} != {"package"}:
        return
    one, other = set(start.names), set(end.names)
    wired = any(
        graph.chain_exists(importer=high, imported=low, as_packages=True)
        for high, low in [*((a, b) for a in one for b in other), *((b, a) for a in one for b in other)]
    )
    above = [
        package
        for package in ("leadsman.run", "leadsman.cli")
        if all(any(graph.chain_exists(package, name, as_packages=True) for name in names) for names in (one, other))
    ]
    assert wired or above
