import re

from rag_pipeline.evaluation import code_fingerprint as module


def test_the_fingerprint_follows_the_code_that_measures(tmp_path, monkeypatch):
    (tmp_path / "retrieval").mkdir()
    file = tmp_path / "retrieval" / "rank.py"
    (tmp_path / "serving.py").write_text("a = 1")
    file.write_text("a = 1")
    monkeypatch.setattr(module.rag_pipeline, "__file__", str(tmp_path / "__init__.py"))
    fingerprint = module.code_fingerprint.__wrapped__
    first = fingerprint()
    assert re.fullmatch("[0-9a-f]{20}", first)
    (tmp_path / "serving.py").write_text("a = 2")
    assert fingerprint() == first
    file.write_text("a = 2")
    assert fingerprint() != first


def test_further_packages_make_another_fingerprint():
    assert module.code_fingerprint(*module.ANSWERING) not in (
        module.code_fingerprint(),
        module.code_fingerprint("context"),
    )
