from rag_pipeline.chunking.blocks import Block, Part
from rag_pipeline.chunking.garbage import Hole
from rag_pipeline.chunking.sections import merge_short, runs_between
from rag_pipeline_tests.chunking.support import WORDS, assert_sound, chunk, document, paths, texts

LONG = "word " * 20


def test_two_sections() -> None:
    made = chunk("# Setup\n~~~sh\n# install it\n~~~\n# Use\nx")
    assert paths(made) == [("Setup",), ("Use",)]
    assert texts(made)[0] == "# Setup\n~~~sh\n# install it\n~~~"


def test_a_short_section_joins_the_one_before() -> None:
    source = document(f"# A\n{LONG}\n## B\n{LONG}\n## C\nshort\n## D\n{LONG}\n")
    made = chunk(source, min_chars=50)
    assert paths(made) == [("A",), ("A", "B"), ("A", "D")]
    assert source.text[made.sections[1].start : made.sections[1].end].endswith("## C\nshort")
    assert_sound(source, made, limit=256)


def test_a_heading_without_body_joins_its_first_child() -> None:
    source = document(f"# A\n{LONG}\n## B\n### C\n{LONG}\n")
    made = chunk(source, min_chars=50)
    assert paths(made) == [("A",), ("A", "B", "C")]
    assert made.chunks[1].text.startswith("## B\n### C\n")


def test_a_short_beginning_joins_what_follows() -> None:
    made = chunk(f"Hi.\n\n# A\n{LONG}\n", min_chars=50)
    assert paths(made) == [("A",)]
    assert made.chunks[0].text.startswith("Hi.")


def test_many_short_sections_have_the_path_they_share() -> None:
    made = chunk("# A\n" + "".join(f"## {n}\nalpha beta {n}\n" for n in "BCDE"), min_chars=200)
    assert paths(made) == [("A",)]
    assert len(made.chunks) == 1


def test_a_child_of_a_merged_section_carries_its_own_path() -> None:
    text = f"# A\n## B\n{'word ' * 40}\n## C\n{'x y ' * 12}\n"
    made = chunk(text, min_chars=50, child_tokens=60, section_tokens=300)
    assert paths(made) == [("A", "B")]
    assert [c.search_text.splitlines()[0] for c in made.chunks] == ["Doc > A > B", "Doc > A > C"]


def test_text_above_the_first_heading_has_the_title_as_path() -> None:
    assert paths(chunk(f"{LONG}\n\n# A\n{LONG}")) == [("Doc",), ("A",)]


def test_a_giant_paragraph_is_capped_evenly() -> None:
    source = document("# A\n" + "many words in one paragraph. " * 14_000)
    made = chunk(source, section_tokens=512, child_tokens=200)
    assert len(made.sections) >= 14_000 * 6 // 512
    assert max(s.end - s.start for s in made.sections) < 512 * 8
    assert set(paths(made)) == {("A",)}
    assert [e.rule for e in made.ledger] == ["section_capped"]
    assert_sound(source, made, limit=256)


def test_caps_fall_on_block_borders() -> None:
    paragraphs = [f"Paragraph {i}. " + "word " * 28 for i in range(12)]
    source = document("\n\n".join(paragraphs))
    made = chunk(source, section_tokens=100, child_tokens=40)
    assert all(source.text[s.start :].startswith("Paragraph ") for s in made.sections)
    assert len(made.sections) == 4
    assert_sound(source, made, limit=256)


def test_runs_between_holes() -> None:
    text = "aaaa\n\nbbbb cccc\n"
    part = Part(((1, "H"),), (Block(0, 6, "paragraph"), Block(6, 16, "paragraph")))
    runs = runs_between(text, [part], [Hole(0, 4, "x"), Hole(11, 15, "y")])
    assert [[(b.start, b.end) for p in run.parts for b in p.blocks] for run in runs] == [[(4, 6), (6, 11)]]
    assert runs_between(text, [part], [])[0].beside_hole is False
    assert runs_between(text, [], [Hole(0, 4, "x")]) == []


def test_merging_needs_no_home_where_nothing_is_short() -> None:
    text = "aaaa bbbb"
    parts = [Part((), (Block(0, 4, "paragraph"),)), Part(((1, "B"),), (Block(5, 9, "paragraph"),))]
    assert merge_short(text, parts, min_chars=0) == [[parts[0]], [parts[1]]]
    assert merge_short(text, parts, min_chars=5) == [parts]


SMALL = (
    "# Top\n\nTwo words.\n\n## A\n\none two three four five six\n\n## B\n\none two three four five six seven eight\n"
)


def test_small_neighbours_are_packed_into_one_parent():
    apart = chunk(SMALL)
    packed = chunk(SMALL, section_min_tokens=10)
    assert [s.headers[-1][1] for s in apart.sections] == ["Top", "A", "B"]
    assert [(s.start, s.end) for s in packed.sections] == [
        (apart.sections[0].start, apart.sections[1].end),
        (apart.sections[2].start, apart.sections[2].end),
    ]


def test_packing_never_exceeds_the_cap():
    made = chunk(SMALL, section_min_tokens=1000, section_tokens=16, child_tokens=16)
    assert len(made.sections) > 1
    assert all(WORDS.count(SMALL[s.start : s.end]) <= 16 for s in made.sections)
