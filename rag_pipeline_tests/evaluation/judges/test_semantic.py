import numpy as np
import pytest

from rag_pipeline.evaluation.judges import semantic
from rag_pipeline.evaluation.judges.semantic import SemanticJudge
from rag_pipeline_tests.fakes import WordEmbedder

PASSAGES = ("Tenant keys rotate every 90 days. The vault is sealed at night.", "Pumps move oil.")


def test_the_score_is_the_greatest_cosine_with_a_window():
    embedder = WordEmbedder(dimension=512)
    (verdict,) = SemanticJudge(embedder).judge("keys rotate often", PASSAGES).sentences
    windows = ["Tenant keys rotate every 90 days.", "The vault is sealed at night.", "Pumps move oil."]
    one, others = embedder.embed(["keys rotate often"]), embedder.embed(windows)
    both = others[0] + others[1]
    others = np.vstack([others, both / np.linalg.norm(both)])
    assert verdict.score == pytest.approx(float(np.max(others @ one[0])), abs=1e-6)
    assert verdict.supported is (verdict.score >= semantic.THRESHOLD)


def test_a_number_that_is_not_there_is_unsupported_however_close_the_rest():
    judge = SemanticJudge(WordEmbedder(dimension=512))
    assert judge.judge("Tenant keys do rotate every 90 days.", PASSAGES).score == 1.0
    changed = judge.judge("Tenant keys do rotate every 180 days.", PASSAGES)
    assert changed.score == 0.0
    assert changed.sentences[0].why == "not there: 180"


def test_passages_are_embedded_once_for_all_answers_over_them(monkeypatch):
    embedder = WordEmbedder()
    judge = SemanticJudge(embedder)
    first = judge.judge("Keys rotate.", PASSAGES)
    assert judge.judge("Keys rotate.", PASSAGES) == first
    assert judge.judge("Oil moves.", PASSAGES).failure is None
    assert embedder.calls[2:] == [["Oil moves."]]
    monkeypatch.setattr(semantic, "KEPT", 1)
    assert judge.judge("Other words.", PASSAGES) == SemanticJudge(WordEmbedder()).judge("Other words.", PASSAGES)


def test_another_model_or_threshold_is_another_judge():
    one, other = SemanticJudge(WordEmbedder(64)), SemanticJudge(WordEmbedder(32))
    assert len({one.fingerprint, other.fingerprint, SemanticJudge(WordEmbedder(64), threshold=0.4).fingerprint}) == 3
    assert one.judge("", PASSAGES).failure == "no_sentences"
