"""Settings, and the wiring of each long-running part."""
