"""A podresources service on a unix socket, and a naive encoder of protobuf's wire format for its answers.

The field numbers are written here a second time, from the public API (k8s.io/kubelet pkg/apis/podresources/v1).
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import grpc

LIST = "/v1.PodResourcesLister/List"
ALLOCATABLE = "/v1.PodResourcesLister/GetAllocatableResources"


def number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value % 2**64)


def text(field: int, value: str) -> bytes:
    return message(field, value.encode())


def message(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def packed(field: int, values: Iterable[int]) -> bytes:
    """Numbers as Go writes them; nothing if there are none."""
    data = b"".join(_varint(value % 2**64) for value in values)
    return message(field, data) if data else b""


def topology(numa_nodes: Iterable[int]) -> bytes:
    return b"".join(message(1, number(1, numa) if numa else b"") for numa in numa_nodes)


def device(resource_name: str, device_ids: Iterable[str], numa_nodes: Iterable[int]) -> bytes:
    ids = b"".join(text(2, each) for each in device_ids)
    return text(1, resource_name) + ids + message(3, topology(numa_nodes))


def memory(memory_type: str, size: int, numa_nodes: Iterable[int]) -> bytes:
    return text(1, memory_type) + number(2, size) + message(3, topology(numa_nodes))


def container(
    name: str, cpu_ids: Iterable[int] = (), devices: Iterable[bytes] = (), memories: Iterable[bytes] = ()
) -> bytes:
    parts = [message(2, each) for each in devices], [message(4, each) for each in memories]
    return text(1, name) + b"".join(parts[0]) + packed(3, cpu_ids) + b"".join(parts[1])


def pod(namespace: str, name: str, *containers: bytes) -> bytes:
    return text(1, name) + text(2, namespace) + b"".join(message(3, each) for each in containers)


def pods(*each_pod: bytes) -> bytes:
    """A ListPodResourcesResponse."""
    return b"".join(message(1, each) for each in each_pod)


def allocatable(cpu_ids: Iterable[int], devices: Iterable[bytes] = (), memories: Iterable[bytes] = ()) -> bytes:
    """An AllocatableResourcesResponse."""
    parts = [message(1, each) for each in devices], [message(3, each) for each in memories]
    return b"".join(parts[0]) + packed(2, cpu_ids) + b"".join(parts[1])


class Refusal(Exception):
    """An error that a method answers instead of a message."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code


class FakeKubelet(grpc.GenericRpcHandler):
    """Its answers by method; a method without one is not implemented, as in an older kubelet."""

    def __init__(self, answers: dict[str, bytes | Refusal]) -> None:
        self.answers = answers

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes] | None":
        answer = self.answers.get(handler_call_details.method)
        if answer is None:
            return None

        def respond(_request: bytes, context: grpc.ServicerContext) -> bytes:
            return _refuse(context, answer) if isinstance(answer, Refusal) else answer

        return grpc.unary_unary_rpc_method_handler(respond)


@contextmanager
def served(socket: Path, answers: dict[str, bytes | Refusal]) -> Iterator[FakeKubelet]:
    """A kubelet that answers on `socket`, whose path is at most 107 bytes long."""
    socket.parent.mkdir(parents=True, exist_ok=True)
    kubelet = FakeKubelet(answers)
    with ThreadPoolExecutor(2) as threads:
        server = grpc.server(threads, handlers=[kubelet])
        server.add_insecure_port(f"unix:{socket}")
        server.start()
        try:
            yield kubelet
        finally:
            server.stop(None).wait()
            socket.unlink(missing_ok=True)


def _refuse(context: grpc.ServicerContext, refusal: Refusal) -> NoReturn:
    context.abort(refusal.code, str(refusal))


def _varint(value: int) -> bytes:
    data = b""
    while value > 0x7F:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])
