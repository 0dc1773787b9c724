"""What a record or one of its values cannot be."""


class BadRecord(ValueError):
    """A record that cannot be decoded or makes no sense; the runtime dead-letters it.

    `error_type` is one of a bounded vocabulary, the message is for a person.
    """

    def __init__(self, error_type: str, reason: str) -> None:
        super().__init__(reason)
        self.error_type = error_type


class BadValue(BadRecord):
    """A value of a record that cannot be; the rules raise it."""

    def __init__(self, reason: str) -> None:
        super().__init__("wrong_value", reason)
