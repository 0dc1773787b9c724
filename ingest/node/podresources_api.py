"""Queries the kubelet's podresources service over its unix socket (rules: podresources).

Only the used messages and fields are described, by the numbers of the public API (k8s.io/kubelet
pkg/apis/podresources/v1); protobuf skips all others.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import grpc
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from common.text import plain
from ingest.model.podresources import (
    AllocatableResources,
    ContainerResources,
    DeviceResources,
    MemoryResources,
    NodeResources,
    PodResources,
)
from ingest.node.sysfs import CannotReadError

SERVICE: Final = "/v1.PodResourcesLister"
SECONDS: Final = 5.0
"""Time for an answer, which the kubelet has in memory."""
LIMIT_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of an answer; the kubelet's own client has the same limit."""
SOCKET_PATH_BYTES: Final = 107

_Schema: TypeAlias = Mapping[str, Mapping[str, tuple[int, str]]]

_SCHEMA: Final[_Schema] = {
    "NUMANode": {"ID": (1, "int64")},
    "TopologyInfo": {"nodes": (1, "[NUMANode]")},
    "ContainerDevices": {
        "resource_name": (1, "string"),
        "device_ids": (2, "[string]"),
        "topology": (3, "TopologyInfo"),
    },
    "ContainerMemory": {"memory_type": (1, "string"), "size": (2, "uint64"), "topology": (3, "TopologyInfo")},
    "ContainerResources": {
        "name": (1, "string"),
        "devices": (2, "[ContainerDevices]"),
        "cpu_ids": (3, "[int64]"),
        "memory": (4, "[ContainerMemory]"),
    },
    "PodResources": {"name": (1, "string"), "namespace": (2, "string"), "containers": (3, "[ContainerResources]")},
    "ListPodResourcesResponse": {"pod_resources": (1, "[PodResources]")},
    "AllocatableResourcesResponse": {
        "devices": (1, "[ContainerDevices]"),
        "cpu_ids": (2, "[int64]"),
        "memory": (3, "[ContainerMemory]"),
    },
}
"""Fields of each message: number and type, in brackets if repeated."""

_SCALARS: Final = {
    "int64": FieldDescriptorProto.TYPE_INT64,
    "uint64": FieldDescriptorProto.TYPE_UINT64,
    "string": FieldDescriptorProto.TYPE_STRING,
}
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", LIMIT_BYTES),
    ("grpc.use_local_subchannel_pool", 1),  # otherwise a restarted kubelet is not tried again for a while
    ("grpc.enable_http_proxy", 0),
)
_NOT_OFFERED: Final = frozenset({grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.UNKNOWN})
"""Status of a kubelet that lacks a method (before 1.21) or has it disabled (before 1.23)."""


def read_podresources(socket: Path) -> NodeResources:
    """Read from the kubelet what its pods hold and what is allocatable, in a stable order. Raises CannotReadError."""
    if len(bytes(socket)) > SOCKET_PATH_BYTES:
        raise CannotReadError(f"{plain(socket)}: the path of a socket may have at most {SOCKET_PATH_BYTES} bytes")
    with grpc.insecure_channel(f"unix:{socket}", options=_OPTIONS) as channel:
        try:
            pods = decode_pods(_call(channel, "List"))
            return NodeResources(pods=pods, allocatable=_allocatable(channel))
        except grpc.RpcError as error:
            raise CannotReadError(f"{plain(socket)}: {_reason(error)}") from None
        except DecodeError as error:
            raise CannotReadError(
                f"{plain(socket)}: the answer is not a podresources message: {plain(error)}"
            ) from None


def decode_pods(data: bytes) -> tuple[PodResources, ...]:
    """Return the pods of a ListPodResourcesResponse, by namespace and name; raises protobuf's DecodeError."""
    pods = [_pod(pod) for pod in _parsed("ListPodResourcesResponse", data).pod_resources]
    return tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name)))


def decode_allocatable(data: bytes) -> AllocatableResources:
    """Decode an AllocatableResourcesResponse; raises protobuf's DecodeError."""
    message = _parsed("AllocatableResourcesResponse", data)
    return AllocatableResources(
        cpu_ids=tuple(sorted(message.cpu_ids)), devices=_devices(message.devices), memory=_memory(message.memory)
    )


def _allocatable(channel: grpc.Channel) -> AllocatableResources | None:
    try:
        return decode_allocatable(_call(channel, "GetAllocatableResources"))
    except grpc.RpcError as error:
        if _code(error) in _NOT_OFFERED:
            return None
        raise


def _call(channel: grpc.Channel, method: str) -> bytes:
    call = channel.unary_unary(f"{SERVICE}/{method}", _identity, _identity)
    return bytes(call(b"", timeout=SECONDS))


def _identity(data: bytes) -> bytes:
    return data


def _code(error: grpc.RpcError) -> grpc.StatusCode:
    return error.code() if isinstance(error, grpc.Call) else grpc.StatusCode.UNKNOWN


def _reason(error: grpc.RpcError) -> str:
    code = _code(error)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return "this kubelet has no podresources v1 (it came with 1.20)"
    details = error.details() if isinstance(error, grpc.Call) else error
    return f"{code.name}: {plain(details)}"


def _pod(message: Any) -> PodResources:
    return PodResources(
        name=message.name,
        namespace=message.namespace,
        containers=tuple(
            ContainerResources(
                name=each.name,
                cpu_ids=tuple(sorted(each.cpu_ids)),
                devices=_devices(each.devices),
                memory=_memory(each.memory),
            )
            for each in message.containers
        ),
    )


def _devices(messages: Any) -> tuple[DeviceResources, ...]:
    found = [
        DeviceResources(
            resource_name=each.resource_name,
            device_ids=tuple(sorted(each.device_ids)),
            numa_nodes=_numa_nodes(each.topology),
        )
        for each in messages
    ]
    return tuple(sorted(found, key=lambda each: (each.resource_name, each.device_ids)))


def _memory(messages: Any) -> tuple[MemoryResources, ...]:
    found = [
        MemoryResources(memory_type=each.memory_type, size=each.size, numa_nodes=_numa_nodes(each.topology))
        for each in messages
    ]
    return tuple(sorted(found, key=lambda each: (each.memory_type, each.numa_nodes, each.size)))


def _numa_nodes(topology: Any) -> tuple[int, ...]:
    return tuple(sorted(node.ID for node in topology.nodes))


def _parsed(name: str, data: bytes) -> Any:
    message = GetMessageClass(_POOL.FindMessageTypeByName(f"v1.{name}"))()
    message.ParseFromString(data)
    return message


def _pool() -> DescriptorPool:
    pool = DescriptorPool()
    messages = [
        DescriptorProto(name=name, field=[_field(field, *described) for field, described in fields.items()])
        for name, fields in _SCHEMA.items()
    ]
    file = FileDescriptorProto(name="podresources.proto", package="v1", syntax="proto3", message_type=messages)
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def _field(name: str, number: int, described: str) -> FieldDescriptorProto:
    kind = described.strip("[]")
    repeats = kind != described
    return FieldDescriptorProto(
        name=name,
        number=number,
        label=FieldDescriptorProto.LABEL_REPEATED if repeats else FieldDescriptorProto.LABEL_OPTIONAL,
        type=_SCALARS.get(kind, FieldDescriptorProto.TYPE_MESSAGE),
        type_name=None if kind in _SCALARS else f".v1.{kind}",
    )


_POOL: Final = _pool()
