from rag_pipeline_tests.chunking.support import assert_sound, chunk, document, rules, texts


def test_a_file_of_headings_keeps_them_all() -> None:
    source = document("# A\n## B\n## C\n", title="A")
    made = chunk(source, min_chars=50)
    assert texts(made) == ["# A\n## B\n## C"]
    assert made.chunks[0].search_text == "A\n# A\n## B\n## C"
    assert (made.sections[0].kind, made.chunks[0].kind) == ("outline", "outline")
    assert rules(made) == [("filtered", "header_only"), ("notice", "outline")]
    assert_sound(source, made, limit=256)


def test_the_description_is_searched_too() -> None:
    made = chunk(document("# A\n", title="Pump", description="How to oil\na pump."), min_chars=50)
    assert made.chunks[0].search_text == "Pump\nHow to oil a pump.\n# A"
    assert made.chunks[0].text == "# A"
    assert made.chunks[0].tokens == 1 + 6 + 2 + 2


def test_a_description_longer_than_the_limit_is_cut() -> None:
    made = chunk(document("# A\n", description="word " * 100), limit=32, min_chars=50)
    assert made.chunks[0].tokens == 32


def test_an_empty_body_keeps_its_front_matter() -> None:
    front = "---\ntitle: Pumps\nweight: 4\n---\n"
    made = chunk(document(front, title="Pumps", body_start=len(front)), min_chars=50)
    assert texts(made) == [front.rstrip()]
    assert made.chunks[0].kind == "outline"


def test_no_text_at_all_is_reported() -> None:
    for text in ("", " \n", "\u200b\n \t", "---\n\n***\n"):
        made = chunk(document(text), min_chars=50)
        assert made.chunks == ()
        assert rules(made)[-1] == ("filtered", "empty")
        assert made.ledger[-1].size == len(text)


def test_many_headings_make_several_chunks() -> None:
    source = document("".join(f"# Heading number {i}\n" for i in range(300)))
    made = chunk(source, min_chars=50)
    assert len(made.chunks) > 3
    assert {c.kind for c in made.chunks} == {"outline"}
    assert_sound(source, made, limit=256)


def test_a_short_page_is_no_outline() -> None:
    made = chunk("# Ready\nTurn it on.\n", min_chars=50)
    assert texts(made) == ["# Ready\nTurn it on."]
    assert made.chunks[0].kind == "prose"
    assert made.ledger == ()
