"""Every entry of the registry keeps the contract of a reader."""

import random

import pytest

from rag_pipeline.sources.reader import Reading, Refusal
from rag_pipeline.sources.registry import CODE_FORMATS, MARKDOWN_FORMATS, READERS, reader_for


@pytest.mark.parametrize("extension", sorted(READERS))
@pytest.mark.parametrize(
    "data",
    [b"", b"x", b"\xff\xfe", b"{", b"<", b"PK\x03\x04", b"%PDF-", random.Random(1).randbytes(300), b"\x00" * 50],
    ids=["empty", "x", "mark", "brace", "angle", "zip", "pdf", "noise", "nul"],
)
def test_hostile_bytes_give_a_reading_or_a_refusal(extension: str, data: bytes) -> None:
    found = READERS[extension].read(data)
    if isinstance(found, Refusal):
        assert found.rule
        assert found.detail
    else:
        found.text.encode("utf-8")
        assert 0 <= found.body_start <= len(found.text)


def test_every_format_is_text_code_or_markdown() -> None:
    formats = {reader.format for reader in READERS.values()}
    assert formats == MARKDOWN_FORMATS | CODE_FORMATS | {"text", "rst"}


def test_extension_decides_whatever_its_case() -> None:
    assert reader_for("a/README.MD") is READERS["md"]
    for path in ("LICENSE", "a.md/LICENSE", ".md", "a.bin", "a."):
        assert reader_for(path) is None


@pytest.mark.parametrize("extension", ["md", "txt", "rst", "py", "sql", "yaml", "ts"])
def test_plain_formats_store_the_file_itself(extension: str) -> None:
    found = READERS[extension].read(b"\xef\xbb\xbfa:\r\n\tb\xc2\xa0c\r\n")
    assert isinstance(found, Reading)
    assert found.text == "a:\n\tb\u00a0c\n"
    assert found.source_map == ((0, 1), (2, 4), (7, 10))
    assert found.repairs


def test_front_matter_means_nothing_in_code() -> None:
    found = READERS["yaml"].read(b"---\ntitle: x\n---\na: b\n")
    assert isinstance(found, Reading)
    assert (found.body_start, found.metadata.title) == (0, None)


def test_titles_of_prose() -> None:
    markdown = READERS["md"].read(b"---\ntitle: T\n---\n# A\nx")
    assert isinstance(markdown, Reading)
    assert (markdown.metadata.title, markdown.title, markdown.text[markdown.body_start :]) == ("T", "A", "# A\nx")
    for text in (b"=====\nGuide\n=====\n\nx", b"Guide\n=====\nx", b"\nGuide\n~~~~~\n"):
        rst = READERS["rst"].read(text)
        assert isinstance(rst, Reading)
        assert rst.title == "Guide"
    plain = READERS["txt"].read(b"# just a comment sign")
    assert isinstance(plain, Reading)
    assert plain.title is None


def test_an_access_list_in_unreadable_front_matter_admits_nobody() -> None:
    found = READERS["md"].read(b"---\naccess: [group:board\n---\nsecret")
    assert isinstance(found, Reading)
    assert found.metadata.access == ()
    assert "nobody" in found.metadata.notices[0]
    assert found.body_start == 0


def test_a_data_uri_and_a_long_line_are_read_whole() -> None:
    page = f"# A\n\n![x](data:image/png;base64,{'QUJD' * 75_000})\n\nThe rest of the page.\n"
    found = READERS["md"].read(page.encode())
    assert isinstance(found, Reading)
    assert found.text == page
    line = '{"k":[' + "1," * 2_500_000 + "1]}"
    for extension in ("json", "js", "md", "txt"):
        found = READERS[extension].read(line.encode())
        assert isinstance(found, Reading)
        assert len(found.text) == len(line)


def test_module_syntax_of_mdx_stays_in_the_text() -> None:
    page = 'import Tabs from "@theme/Tabs"\n\n# Setup\n\n<Tabs>x</Tabs>\n'
    found = READERS["mdx"].read(page.encode())
    assert isinstance(found, Reading)
    assert (found.text, found.title) == (page, "Setup")
