"""A registry on loopback, from which a node pulls images of the worker (`Containerd.mirror`)."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from components.cluster.image import MANIFEST_TYPE, digest, registry_image
from components.processes import HOST


class Registry:
    """Its answers by path, and the paths that were requested."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.contents: dict[str, tuple[str, bytes]] = {"/v2/": ("application/json", b"{}")}
        self.asked: list[str] = []
        self._layers: dict[str, str] = {}

    def add(self, image: str) -> None:
        """Have an image, as `worker:1`."""
        repository, _, tag = image.partition(":")
        manifest, config, layer = registry_image(image)
        for reference in (tag, digest(manifest)):
            self.contents[f"/v2/{repository}/manifests/{reference}"] = (MANIFEST_TYPE, manifest)
        for blob in (config, layer):
            self.contents[f"/v2/{repository}/blobs/{digest(blob)}"] = ("application/octet-stream", blob)
        self._layers[image] = f"/v2/{repository}/blobs/{digest(layer)}"

    def transfers(self, image: str) -> int:
        """Return how often the layer of an image was fetched."""
        return self.asked.count(self._layers[image])


@contextmanager
def running_registry(*images: str) -> Iterator[Registry]:
    """A registry that has `images` and answers until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            registry.asked.append(self._asked())
            self.wfile.write(self._answer())

        def _asked(self) -> str:
            return self.path.partition("?")[0]  # a mirror is told for which registry

        def _answer(self) -> bytes:
            kind, content = registry.contents.get(self._asked(), ("", b""))
            self.send_response(200 if content else 404)
            self.send_header("Content-Length", str(len(content)))
            if content:
                self.send_header("Content-Type", kind)
                self.send_header("Docker-Content-Digest", digest(content))
            self.end_headers()
            return content

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name in http.server
            pass

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        registry = Registry(f"http://{HOST}:{server.server_address[1]}")
        for image in images:
            registry.add(image)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
