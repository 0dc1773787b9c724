"""`PYTHONPATH=tests python -m components.page.pictures`: takes the pictures of the page that the README shows.

The page is of the recordings in `examples/`, as `make demo` replays them. Where pngquant is installed, they are made
small with it.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from components.command import start, succeeds
from components.page.browser import browse
from paths import LATE_JOINERS, NODE_PRESSURE, ROOT

PICTURES: Final = ROOT / "deploy" / "screenshots"
PORT: Final = 8499
SITE: Final = f"http://127.0.0.1:{PORT}"
PHONE: Final = {"width": 390, "height": 844}
DESK: Final = {"width": 1440, "height": 1100}
_TO: Final = "(() => {{ document.querySelector('{0}').scrollIntoView(); return 0 }})()"


def main() -> None:
    """Replay, serve, take every picture."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="leadsman-pictures-") as folder:
        db = Path(folder) / "db"
        succeeds("replay", NODE_PRESSURE, LATE_JOINERS, db=db)
        succeeds("report", "--cluster", "lab", "-o", Path(folder) / "report.html", db=db)
        site = start("serve", "--port", PORT, db=db)
        try:
            assert site.stderr is not None
            site.stderr.readline()
            browse(_steps(Path(folder) / "report.html"), Path(folder))
        finally:
            site.terminate()
            site.wait()
    if shutil.which("pngquant"):
        for picture in sorted(PICTURES.glob("*.png")):
            subprocess.run(["pngquant", "--force", "--skip-if-larger", "--ext", ".png", picture], check=False)  # noqa: S607 - checked above


def _steps(report: Path) -> list[dict[str, Any]]:
    overview, node = f"{SITE}/?cluster=lab", f"{SITE}/node?cluster=lab&node=real-node-1"
    numa = f"{SITE}/node?cluster=late-joiners&node=node-3"
    pictures = {
        "page-light": (overview, "light", DESK, "body"),
        "page-dark": (overview, "dark", DESK, "body"),
        "node-light": (node, "light", DESK, "body"),
        "node-dark": (node, "dark", DESK, "body"),
        "numa-light": (numa, "light", DESK, "#numa"),
        "report-light": (report.as_uri(), "light", DESK, "#node-1"),
        "phone-light": (overview, "light", PHONE, "body"),
        "phone-dark": (node, "dark", PHONE, "#margins"),
        "report-phone-dark": (report.as_uri(), "dark", PHONE, "body"),
    }
    return [
        {
            "url": url,
            "scheme": scheme,
            **size,
            "actions": [["wait", 300], ["read", "at", _TO.format(place)], ["wait", 500]],
            "picture": str(PICTURES / f"{name}.png"),
        }
        for name, (url, scheme, size, place) in pictures.items()
    ]


if __name__ == "__main__":
    main()
