"""Takes what the operating system grants this process."""

import resource
from contextlib import suppress
from typing import Final

MOST_FILES: Final = 65_536


def raise_file_limit() -> None:
    """Let this process have as many files and connections open as it may; 1,024 are a common default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
