"""The components as pytest fixtures, one of each for a test session."""

import logging
import ssl
from asyncio.sslproto import _SSLProtocolTransport
from collections.abc import Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any, Final

import pytest
import structlog
from _pytest.fixtures import SubRequest
from aiohttp.connector import NEEDS_CLEANUP_CLOSED, TCPConnector

from components.clickhouse import ClickHouseHttp
from components.cluster.containerd import containerd_programs
from components.cluster.image import worker_archive
from components.cluster.kubelet import NODE, RealNode, why_no_kubelet
from components.cluster.kubernetes import Cluster, etcd_program, kubernetes_programs
from components.kafka import Kafka, kafka_libraries
from components.programs.cache import require

_STARTED: Final[list[tuple[pytest.FixtureDef[Any], SubRequest]]] = []


def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: SubRequest) -> None:
    """Remember what lasts for a session, and takes time of the processor although nobody asks it."""
    if fixturedef.argname in {"kafka", "cluster"}:
        _STARTED.append((fixturedef, request))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Stop it once no test is left that needs a component: those come first (tests/conftest.py)."""
    if nextitem is not None and nextitem.get_closest_marker("components") is None:
        while _STARTED:
            fixturedef, request = _STARTED.pop()
            fixturedef.finish(request)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A running Kafka; `kafka.bootstrap_servers` for clients. A test that stops it starts it again."""
    require(kafka_libraries)
    broker = Kafka(tmp_path_factory.mktemp("kafka"))
    try:
        yield broker.start()
    finally:
        broker.stop()


@pytest.fixture
def clickhouse(tmp_path: Path) -> Iterator[ClickHouseHttp]:
    """A ClickHouse server of the test's own; `clickhouse.dsn(database)` for clients."""
    with ClickHouseHttp(tmp_path / "clickhouse") as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def no_public_authorities() -> Iterator[None]:
    """Trust those of a test alone: to read the machine's takes most of the time in which a client is made."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ssl.SSLContext, "load_default_certs", lambda *_: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def closed_tls() -> Iterator[None]:
    """Cut connections to API servers when they are closed: by TLS alone they linger in a loop that ends, and are
    collected, with a warning, in a later test.
    """
    with pytest.MonkeyPatch.context() as patched:
        if NEEDS_CLEANUP_CLOSED:
            cutting = partialmethod(TCPConnector.__init__, enable_cleanup_closed=True)
            patched.setattr(TCPConnector, "__init__", cutting)
            patched.setattr(_SSLProtocolTransport, "abort", _aborted)
        yield


_ABORT: Final = _SSLProtocolTransport.abort


def _aborted(transport: Any) -> None:
    """Abort what has not lost its connection: before 3.11.4, Python fails on what has."""
    if transport._ssl_protocol is not None:
        _ABORT(transport)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A running control plane; `cluster.kubeconfig()` for clients. A test that stops a part starts it again."""
    require(kubernetes_programs, etcd_program)
    control_plane = Cluster(tmp_path_factory.mktemp("cluster"), nodes=(NODE,))
    try:
        yield control_plane.start()
    finally:
        control_plane.stop()


@pytest.fixture(scope="session")
def real_node(request: pytest.FixtureRequest) -> Iterator[RealNode]:
    """A Ready node of `cluster` with a real kubelet. Where no kubelet can run the test skips, under CI too."""
    if reason := why_no_kubelet():
        pytest.skip(reason)
    require(containerd_programs, worker_archive)
    node = RealNode(request.getfixturevalue("cluster"))
    try:
        yield node.start()
    finally:
        node.stop()


@pytest.fixture
def logs_as_before() -> Iterator[None]:
    """Undo a test's configuration of the logs: later ones would write into its captured output, which is closed."""
    handlers = list(logging.getLogger().handlers)
    yield
    structlog.reset_defaults()
    logging.getLogger().handlers = handlers
