from pathlib import Path

import pytest

from rag_pipeline.errors import InvalidSource
from rag_pipeline.index.snapshot_of import snapshot_of_chunking


def test_the_recorded_key(tmp_path: Path) -> None:
    (tmp_path / "chunking.json").write_text('{"snapshot": "abc", "chunks": 3}')
    assert snapshot_of_chunking(tmp_path) == "abc"


@pytest.mark.parametrize("text", [None, "{", "{}", "[]"])
def test_anything_else(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "chunking.json").write_text(text)
    with pytest.raises(InvalidSource, match="chunk the documents again"):
        snapshot_of_chunking(tmp_path)
