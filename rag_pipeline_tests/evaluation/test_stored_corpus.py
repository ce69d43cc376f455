from dataclasses import replace

from rag_pipeline.evaluation.stored_corpus import stored_corpus
from rag_pipeline.index.open import open_build
from rag_pipeline_tests.stages import build, document


def test_texts_sections_and_duplicates_come_back_as_they_were_built(tmp_path):
    page = document("a.md", "One paragraph here.", "Another one.", title="Ä page")
    copy = replace(page, doc_id="copy.md", canonical_id="a.md")
    index = open_build(build(tmp_path, [page, copy]).folder)
    corpus = stored_corpus(index)
    index.close()
    assert corpus.texts == {"a.md": page.text, "copy.md": page.text}
    assert corpus.canonical == {"copy.md": "a.md"}
    assert [page.text[s.start : s.end] for s in corpus.sections["a.md"]] == ["One paragraph here.", "Another one."]
    assert corpus.sections["a.md"][0].headers == ((1, "Ä page"), (2, "Part 0"))
    assert "copy.md" not in corpus.sections
