"""What serving costs to import, seen by a fresh interpreter."""

import subprocess
import sys

from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document

HEAVY = (
    *("dagster", "mlflow", "torch", "sentence_transformers", "transformers", "sklearn"),
    *("pyarrow", "pandas", "onnxruntime", "httpx", "flashrank"),
)


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_retrieval_loads_nothing_heavy() -> None:
    loaded = f"import rag_pipeline.service, sys; print([m for m in {HEAVY} if m in sys.modules])"
    assert run(loaded) == "[]"


def test_a_query_loads_nothing_heavy(served: Served) -> None:
    """DuckDB imports pandas when the first value is bound, and pandas pyarrow: most of a second for one query."""
    served.publish([document("a.md", "the pump"), document("b.md", "secret pump", access=("group:g",))])
    code = (
        "import sys; from pathlib import Path; from rag_pipeline import retrieve;"
        f"hits = retrieve('pump', collection='test', strategy='bm25', home=Path({str(served.home.root)!r})).hits;"
        f"print([h.doc_id for h in hits], [m for m in {HEAVY} if m in sys.modules])"
    )
    assert run(code) == "['a.md'] []"


def test_the_package_root_exports_lazily() -> None:
    code = """
import sys, time
started = time.process_time()
import rag_pipeline
took = time.process_time() - started
assert took < 0.05, took
assert not [m for m in sys.modules if m.startswith("rag_pipeline.")]
from rag_pipeline import Principal
assert "duckdb" not in sys.modules
from rag_pipeline import retrieve
print(retrieve.__name__, Principal.system().is_system)
try:
    rag_pipeline.nothing
except AttributeError as error:
    print(error)
"""
    assert run(code) == "retrieve True\nmodule 'rag_pipeline' has no attribute 'nothing'"
