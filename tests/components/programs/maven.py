"""Programs in Java, from Maven Central."""

from collections.abc import Sequence
from pathlib import Path

from components.programs.cache import ComponentMissing, cached, run_step

_POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>leadsman.tests</groupId>
  <artifactId>{name}-runtime</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY = "    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def jars(name: str, version: str, size: str, coordinates: Sequence[str]) -> Path:
    """The folder of the jars of `group:artifact:version` and all that they need, fetched on the first call."""
    dependencies = [each.split(":") for each in coordinates]

    def build(folder: Path) -> None:
        lines = "\n".join(_DEPENDENCY.format(*each) for each in dependencies)
        (folder / "pom.xml").write_text(_POM.format(name=name, dependencies=lines))
        copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder / 'libs'}"]
        run_step(f"{name} {version}: fetching its jars ({size})", ["mvn", "-q", "-B", *copy], folder)
        for _, artifact, release in dependencies:
            if not (folder / "libs" / f"{artifact}-{release}.jar").exists():
                raise ComponentMissing(f"Maven fetched no {artifact}-{release}.jar")

    return cached(name, version, build) / "libs"
