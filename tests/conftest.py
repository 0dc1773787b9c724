"""Fixtures of every test: the real components."""

pytest_plugins = ["components.database", "components.fixtures"]
