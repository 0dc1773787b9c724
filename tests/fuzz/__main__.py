"""`python -m fuzz [--seconds N] [TARGET...]`: coverage-guided fuzzing of each target, one process after the other.

What breaks a target's property is kept in `found/TARGET/` and ends the run with status 1: mend the program, and leave
the input there, where `test_fuzz_targets.py` tries it again for ever. What covers new code is kept under `--corpus`.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Final

LONGEST_INPUT_BYTES: Final = 16 * 1024
SLOW_SECONDS: Final = 10
"""No input may take so long."""
MEMORY_MIB: Final = 2048


def main() -> int:
    """Run as a person calls it."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--corpus", type=Path, default=Path(".venv/fuzz"))
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("targets", nargs="*")
    given = parser.parse_args()
    if given.one:
        return _fuzz(given.targets[0], given.corpus, given.seconds)
    from fuzz.catalogue import TARGETS  # noqa: PLC0415  # the fuzzing process imports it instrumented

    names = [target.name for target in TARGETS]
    if unknown := sorted(set(given.targets) - set(names)):
        parser.error(f"no target is called {', '.join(unknown)}; there are {', '.join(names)}")
    broken = [name for name in given.targets or names if _run(name, given.corpus, given.seconds)]
    print(f"fuzz: {'no findings' if not broken else 'FINDINGS in ' + ', '.join(broken)}")
    return 1 if broken else 0


def _run(name: str, corpus: Path, seconds: int) -> int:
    print(f"fuzz: {name}, {seconds} s", flush=True)
    flags = ["--one", f"--seconds={seconds}", f"--corpus={corpus}", name]
    return subprocess.run([sys.executable, "-m", "fuzz", *flags], check=False).returncode


def _fuzz(name: str, corpus: Path, seconds: int) -> int:
    import atheris  # noqa: PLC0415  # only `make fuzz` installs it

    with atheris.instrument_imports(include=["ingest", "streams"]):
        from fuzz.catalogue import FOUND, TARGETS, inputs  # noqa: PLC0415

    target = next(each for each in TARGETS if each.name == name)
    kept = corpus / name
    kept.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(inputs(target)):
        (kept / f"seed-{number:04d}").write_bytes(data)
    (FOUND / name).mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST_INPUT_BYTES}", f"-timeout={SLOW_SECONDS}"]
    output = [f"-artifact_prefix={FOUND / name}/", "-print_final_stats=1", f"-rss_limit_mb={MEMORY_MIB}"]
    atheris.Setup([sys.argv[0], *limits, *output, str(kept)], target.check)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
