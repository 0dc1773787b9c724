"""How large it can get: `make scale` measures, and writes `tests/bench/SCALE.md`."""
