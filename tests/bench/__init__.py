"""Benchmarks; they use the components of the tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
