"""BEIR data sets: one document a line."""

import gzip
import json
from pathlib import Path

from rag_pipeline.sources.beir import corpus_file, read_corpus
from rag_pipeline.sources.document import Outcome
from rag_pipeline.sources.folder import open_folder
from rag_pipeline.sources.metadata import Metadata


def read(folder: Path, data: bytes, *, name: str = "corpus.jsonl", limit: int = 10_000) -> list[Outcome]:
    (folder / name).write_bytes(data)
    return list(
        read_corpus(
            open_folder(str(folder)), name, prefix="set/", defaults=Metadata(author="Ada"), max_line_bytes=limit
        )
    )


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(r).encode() + b"\n" for r in records)


def texts(outcomes: list[Outcome]) -> dict[str, str]:
    return {o.document.doc_id: o.document.text for o in outcomes if o.document}


def rules(outcomes: list[Outcome]) -> list[tuple[str, str]]:
    return [(o.entries[0].path, o.entries[0].rule) for o in outcomes if not o.document]


def test_title_and_text(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        lines(
            {"_id": "1", "title": "Wings", "text": "About lift."},
            {"_id": "2", "title": "Wings", "text": "Wings\n\nAbout lift."},
            {"_id": "3", "title": "", "text": "No title."},
            {"_id": "4", "title": "Only a title", "text": ""},
            {"_id": 5, "text": "A number as id."},
        ),
    )
    assert texts(found) == {
        "set/1": "Wings\n\nAbout lift.",
        "set/2": "Wings\n\nAbout lift.",
        "set/3": "No title.",
        "set/4": "Only a title",
        "set/5": "A number as id.",
    }
    documents = [o.document for o in found if o.document]
    assert [d.title for d in documents] == ["Wings", "Wings", "3", "Only a title", "5"]
    assert {d.format for d in documents} == {"text"}
    assert documents[0].author == "Ada"
    assert documents[0].source == f"{tmp_path}/corpus.jsonl#1"


def test_ids_may_look_like_urls(tmp_path: Path) -> None:
    (found,) = read(tmp_path, lines({"_id": "https://x.org/en/a#b", "text": "words"}))
    assert found.document is not None
    assert (found.document.doc_id, found.document.category, found.document.language) == (
        "set/https://x.org/en/a#b",
        None,
        None,
    )


def test_other_keys_are_metadata(tmp_path: Path) -> None:
    record = {
        "_id": "1",
        "text": "words",
        "tags": ["a"],
        "url": "u",
        "sentences": ["words"],
        "metadata": {"access": ["group:a"]},
    }
    (found,) = read(tmp_path, lines(record))
    assert found.document is not None
    assert (found.document.tags, found.document.access, found.document.extra) == (("a",), ("group:a",), '{"url": "u"}')


def test_nothing_is_lost_without_a_word(tmp_path: Path) -> None:
    good = {"_id": "1", "text": "words"}
    data = (
        lines(good, {"_id": "2", "title": "", "text": " "})
        + b"{broken\n"
        + b"\n"
        + lines(good, {"text": "no id"}, {"_id": "3", "text": 7}, ["x"])
        + lines({"_id": "4", "text": "y" * 10_000})
        + b"\xff\n"
        + lines({"_id": "5", "text": "the last line \ud800"})[:-1]
    )
    found = read(tmp_path, data)
    assert texts(found) == {"set/1": "words", "set/5": "the last line \ufffd"}
    assert rules(found) == [
        ("set/2", "empty"),
        ("set/corpus.jsonl:3", "malformed"),
        ("set/corpus.jsonl:5", "duplicate_id"),
        ("set/corpus.jsonl:6", "malformed"),
        ("set/corpus.jsonl:7", "malformed"),
        ("set/corpus.jsonl:8", "malformed"),
        ("set/corpus.jsonl:9", "too_large"),
        ("set/corpus.jsonl:10", "malformed"),
    ]


def test_gzip_and_a_torn_one(tmp_path: Path) -> None:
    packed = gzip.compress(lines({"_id": "1", "text": "words"}, {"_id": "2", "text": "more"}))
    assert len(texts(read(tmp_path, packed, name="corpus.jsonl.gz"))) == 2
    torn = read(tmp_path, packed[:-12], name="corpus.jsonl.gz")
    assert rules(torn) == [("set/corpus.jsonl.gz", "unreadable")]
    assert rules(read(tmp_path, b"no gzip", name="corpus.jsonl.gz")) == [("set/corpus.jsonl.gz", "unreadable")]


def test_corpus_file() -> None:
    assert corpus_file({"corpus.jsonl", "queries.jsonl"}) == "corpus.jsonl"
    assert corpus_file({"corpus.jsonl.gz", "queries.jsonl"}) == "corpus.jsonl.gz"
    assert corpus_file({"corpus.jsonl"}) is None
    assert corpus_file({"queries.jsonl"}) is None
    assert corpus_file({"a/corpus.jsonl", "queries.jsonl"}) is None
