"""The images of the test pods, made by hand: one static C program, as a docker-archive that needs no registry, or as
what a registry answers (registry.py).
"""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from components.programs.cache import cached, run_step

IMAGE: Final = "leadsman.example/worker:1"
"""Its commands: `wait` (also with none), `exit CODE`, `spin`, `thrash MIB`, `grow MICROSECONDS MIB`,
`fill PATH MICROSECONDS MIB`.

`grow` and `fill` take one MiB every so many microseconds, hold at the size that is named, and wait.
`thrash` touches the pages of that size in no order, without an end.
"""

MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
SOURCE: Final = Path(__file__).with_name("worker.c")


def worker_archive() -> Path:
    """The image as a docker-archive for `ctr images import`, compiled on the first call."""

    def build(folder: Path) -> None:
        compiler = ["gcc", "-static", "-O1", "-Wall", "-o", str(folder / "worker"), str(SOURCE)]
        run_step("compiling the worker of the test pods", compiler, folder)
        (folder / "image.tar").write_bytes(docker_archive(IMAGE, (folder / "worker").read_bytes()))

    version = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    return cached("worker-image", version, build) / "image.tar"


def docker_archive(image: str, program: bytes) -> bytes:
    """An image of one layer whose entry point is `/worker`, as `docker save` writes it."""
    layer = _tar({"worker": program})
    manifest = [{"Config": "config.json", "RepoTags": [image], "Layers": ["layer.tar"]}]
    return _tar(
        {
            "config.json": _config(layer),
            "layer.tar": layer,
            "manifest.json": json.dumps(manifest).encode(),
        }
    )


def registry_image(image: str) -> tuple[bytes, bytes, bytes]:
    """The manifest, config and layer of an image with the worker that shares nothing with another one."""
    program = worker_archive().with_name("worker").read_bytes()
    files = _tar({"worker": program, "name": image.encode()})
    config, layer = _config(files), gzip.compress(files, mtime=0)
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": _described("application/vnd.oci.image.config.v1+json", config),
        "layers": [_described("application/vnd.oci.image.layer.v1.tar+gzip", layer)],
    }
    return json.dumps(manifest).encode(), config, layer


def digest(content: bytes) -> str:
    """Return the digest of a content, as manifests and registries name it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _described(kind: str, content: bytes) -> dict[str, object]:
    return {"mediaType": kind, "digest": digest(content), "size": len(content)}


def _config(layer: bytes) -> bytes:
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": ["/worker"]},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
    }
    return json.dumps(config).encode()


def _tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o755
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
