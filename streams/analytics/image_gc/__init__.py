"""Image garbage collection: verdicts on its failures."""
