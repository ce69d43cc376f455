"""Which files are read, under which ids, and why the others are not."""

import os
from pathlib import Path

import pytest

from rag_pipeline.errors import InvalidSource
from rag_pipeline.settings.build import SourceSettings
from rag_pipeline.sources.scan import Scan, readable, scan_source


def scan(path: Path, *, max_file_bytes: int = 1000, allow_empty: bool = False, **settings: object) -> Scan:
    source = SourceSettings.model_validate({"path": str(path), **settings})
    return scan_source(source, max_file_bytes=max_file_bytes, allow_empty=allow_empty)


def write(path: Path, text: str = "x") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def test_ids_are_sorted_paths_below_the_name(tmp_path: Path) -> None:
    for name in ("b.md", "a/z.md", "a.md"):
        write(tmp_path / name)
    assert [i.doc_id for i in scan(tmp_path).inputs] == ["a.md", "a/z.md", "b.md"]
    assert [i.doc_id for i in scan(tmp_path, name="docs").inputs] == ["docs/a.md", "docs/a/z.md", "docs/b.md"]
    assert scan(tmp_path).inputs[0].location == str(tmp_path / "a.md")


def test_what_is_left_out_is_in_the_ledger(tmp_path: Path) -> None:
    write(tmp_path / "a.md")
    write(tmp_path / "b.txt")
    write(tmp_path / "drafts" / "c.md")
    write(tmp_path / "big.md", "x" * 1001)
    write(tmp_path / ".hidden")
    found = scan(tmp_path, include=["*.md"], exclude=["drafts/"])
    assert [i.doc_id for i in found.inputs] == ["a.md"]
    assert {(e.path, e.outcome, e.rule) for e in found.entries} == {
        ("b.txt", "skipped", "not_included"),
        ("drafts/", "skipped", "excluded"),
        ("big.md", "skipped", "too_large"),
        (".hidden", "skipped", "hidden"),
    }


def test_names_that_are_no_utf8_have_ids_that_are(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_bytes(b"x")
    (item,) = scan(tmp_path).inputs
    assert item.doc_id == "caf%E9.md"
    item.location.encode("utf-8")
    assert readable("café 東京") == "café 東京"


def test_defaults_files_are_no_documents_and_hold_whatever_is_included(tmp_path: Path) -> None:
    write(tmp_path / "a.md")
    write(tmp_path / "_defaults.toml", 'access = ["group:ops"]')
    write(tmp_path / "sub" / "_defaults.toml", "acess = []")
    found = scan(tmp_path, include=["*.md"])
    assert [i.doc_id for i in found.inputs] == ["a.md"]
    assert found.defaults[""].metadata.access == ("group:ops",)
    assert found.defaults["sub"].metadata.access == ()
    assert {(e.path, e.outcome, e.rule) for e in found.entries} == {
        ("_defaults.toml", "skipped", "defaults"),
        ("sub/_defaults.toml", "failed", "defaults"),
    }


def test_a_defaults_file_behind_a_bad_link_or_too_large_is_a_broken_one(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(tmp_path / "outside.toml", 'access = ["group:ops"]')
    write(source / "a.md")
    (source / "_defaults.toml").symlink_to("../outside.toml")
    write(source / "b" / "_defaults.toml", "# " + "x" * 300_000)
    found = scan(source)
    assert found.defaults[""].problem.startswith("outside")
    assert "larger than" in found.defaults["b"].problem
    assert found.defaults[""].metadata.access == ()


def test_a_beir_folder_is_one_corpus(tmp_path: Path) -> None:
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "readme.md"):
        write(tmp_path / name)
    found = scan(tmp_path)
    assert found.corpus == "corpus.jsonl"
    assert found.inputs == ()
    assert {e.rule for e in found.entries} == {"not_corpus"}
    (tmp_path / "queries.jsonl").unlink()
    assert scan(tmp_path).corpus is None


def test_empty_sources(tmp_path: Path) -> None:
    with pytest.raises(InvalidSource, match="holds no files; add some"):
        scan(tmp_path)
    write(tmp_path / ".gitkeep")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidSource, match="holds no files"):
        scan(tmp_path)
    assert scan(tmp_path, allow_empty=True).inputs == ()
    write(tmp_path / "a.bin")
    assert [i.doc_id for i in scan(tmp_path).inputs] == ["a.bin"]
    assert scan(tmp_path, include=["*.md"]).inputs == ()
