"""pyarrow does without numpy and pandas."""

import subprocess
import sys


def test_rows_become_arrow_columns_without_numpy_and_pandas() -> None:
    script = """
import sys
from sql.landing.batches import to_arrow
from streams.fold.findings import NodeFit
columns = to_arrow(NodeFit, [])
assert columns.num_rows == 0
assert not {"numpy", "pandas"} & sys.modules.keys()
import pandas
"""
    subprocess.run([sys.executable, "-c", script], check=True)
