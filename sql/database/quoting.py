"""Names in SQL."""


def quoted(identifier: str) -> str:
    """A name as SQL reads it back unchanged."""
    escaped = identifier.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"
