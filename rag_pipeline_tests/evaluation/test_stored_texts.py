from pathlib import Path

import pytest

from rag_pipeline.evaluation.stored_texts import ReleaseTexts
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline.schema import Principal
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document


def test_texts_by_release_and_who_may_read_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = Served(tmp_path / "home", monkeypatch)
    old = served.publish([document("a.md", "old text"), document("b.md", "public then")])
    new = served.publish([document("a.md", "new text"), document("b.md", "x", access=("user:ann",))], name="2")
    texts = ReleaseTexts(served.paths, open_current(served.paths))
    assert texts.release_id == new.release_id
    assert texts.text(new.release_id, "a.md") == "# A\n\nnew text"
    assert texts.text(old.release_id, "a.md") == "# A\n\nold text"
    assert texts.text(new.release_id, "ghost.md") is None
    assert texts.text("0" * 20, "a.md") is None
    assert texts.text(f"../releases/{old.release_id}", "a.md") is None
    assert texts.readable("a.md", None) and not texts.readable("b.md", None)
    assert texts.readable("b.md", Principal("ann")) and not texts.readable("ghost.md", None)
