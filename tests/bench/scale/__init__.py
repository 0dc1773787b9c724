"""Measures the scaling limits: `make scale` writes `tests/bench/SCALE.md`."""
