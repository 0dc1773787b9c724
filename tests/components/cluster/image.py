"""The image of the test pods: one static C program in a hand-made docker-archive, so that no registry is asked."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from components.programs.cache import cached, run_step

IMAGE: Final = "leadsman.example/worker:1"
"""Its commands: `wait` (also with none), `exit CODE`, `spin`, `grow MICROSECONDS MIB`, `fill PATH MICROSECONDS MIB`.

`grow` and `fill` take one MiB every so many microseconds, hold at the size that is named, and wait.
"""

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
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": ["/worker"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [image], "Layers": ["layer.tar"]}]
    return _tar(
        {
            "config.json": json.dumps(config).encode(),
            "layer.tar": layer,
            "manifest.json": json.dumps(manifest).encode(),
        }
    )


def _tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o755
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
