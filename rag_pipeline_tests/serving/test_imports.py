"""What serving costs to import, and that it imports nothing upward."""

import subprocess
import sys

HEAVY = ("dagster", "mlflow", "torch", "sentence_transformers", "transformers", "pyarrow", "pandas", "mcp")


def test_the_server_loads_nothing_heavy_and_nothing_above_it() -> None:
    code = f"""
import sys
import rag_pipeline.serving.app
print([m for m in {HEAVY} if m in sys.modules])
above = ("rag_pipeline.cli", "rag_pipeline.defs", "rag_pipeline.definitions", "rag_pipeline.tracking")
print(sorted(m for m in sys.modules if m.startswith(above)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]
