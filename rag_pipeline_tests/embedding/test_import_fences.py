import subprocess
import sys
from pathlib import Path

from rag_pipeline_tests.embedding.tiny import exported_table

HEAVY = ("torch", "sentence_transformers", "transformers", "pyarrow", "onnx", "dagster", "mlflow", "huggingface_hub")


def test_embedding_a_query_loads_no_build_library(tmp_path: Path) -> None:
    """The base install has none of them, and torch alone costs seconds at start-up."""
    exported = exported_table(tmp_path)
    code = f"""
import sys
from pathlib import Path
from rag_pipeline.embedding.registry import open_embedder
embedder = open_embedder(Path({str(tmp_path)!r}), {exported.fingerprint!r})
assert embedder.embed(["east"], "query").shape == (1, 3)
assert embedder.embed(["east", "north"]).shape == (2, 3)
assert embedder.tokenizer.count("east") == 1
loaded = [name for name in {HEAVY!r} if name in sys.modules]
assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
