from rag_pipeline.evaluation.known_item import known_item_probes
from rag_pipeline.evaluation.resolve import Corpus, resolve
from rag_pipeline.schema import Principal
from rag_pipeline_tests.evaluation.builders import section

PUMP = "# Pump\nThe pump starts when the pressure falls under three bar. Error E-4021 stops the pump at once.\n"
VALVE = "# Valve\nThe valve opens when the pressure rises over seven bar. Call open_valve to open the valve by hand.\n"
SAME = "# Notes\nThis sentence stands twice in this very document. This sentence stands twice in this very document.\n"
TEXTS = {"pump.md": PUMP, "valve.md": VALVE, "notes.md": SAME}


PARTS = {
    f"d{i}.md": f"# Part {i}\nThe part number P-{i}x is kept on shelf {i * 7} of the large hall.\n" for i in range(60)
}


def corpus(**more):
    texts = {**TEXTS, **more}
    return Corpus.of(
        texts, [section(doc, 0, len(text), text.split("\n")[0].lstrip("# ")) for doc, text in texts.items()]
    )


def test_probes_are_made_from_headings_sentences_and_identifiers():
    found = known_item_probes(corpus())
    texts = {q.text: q.tags[1] for q in found.queries}
    assert texts["Pump"] == texts["Valve"] == "heading"
    assert texts["E-4021"] == texts["open_valve"] == "identifier"
    assert "sentence" in texts.values()
    assert not any("stands twice" in text for text in texts)
    assert all(q.principal == Principal.system() for q in found.queries)


def test_every_probe_names_exactly_its_own_section():
    found = resolve(known_item_probes(corpus()), corpus())
    assert found.coverage == 1.0
    assert all(len(r.sections) == 1 for r in found.relevance.values())


def test_the_same_seed_gives_the_same_probes():
    first = known_item_probes(corpus(**PARTS), count=12)
    assert first.content_hash == known_item_probes(corpus(**PARTS), count=12).content_hash
    assert first.content_hash != known_item_probes(corpus(**PARTS), count=12, seed=1).content_hash
    assert len(first.queries) == 12


def test_most_probes_stay_when_a_document_is_added():
    before = {q.id for q in known_item_probes(corpus(**PARTS), count=20).queries}
    more = {**PARTS, "new.md": "# New\nA new document that nobody has seen before today, named N-77.\n"}
    after = {q.id for q in known_item_probes(corpus(**more), count=20).queries}
    assert len(before) == 20
    assert len(before & after) >= 17


def test_a_heading_that_stands_twice_is_no_probe():
    twice = corpus(**{"other.md": "# Pump\nAn entirely different pump is described by this other document here.\n"})
    assert "Pump" not in {q.text for q in known_item_probes(twice).queries}


def test_a_corpus_that_can_not_ask_has_no_probes():
    assert known_item_probes(Corpus.of({}, [])).queries == ()
    assert known_item_probes(Corpus.of({"a": "short"}, [section("a", 0, 5)])).queries == ()


def test_the_most_telling_sentence_that_stands_once_is_asked():
    """The rarest words do not count where the label could mean two places."""
    once = "A common pump is kept on the large shelf of the hall for a year."
    twice = "Zirconium lanterns illuminate quiescent tabernacles everywhere."
    found = known_item_probes(corpus(**PARTS, **{"twice.md": f"# Rare\n{twice} {once} {twice}\n"}))
    asked = {query.text for query in found.queries if query.tags[1] == "sentence"}
    assert once in asked
    assert twice not in asked
