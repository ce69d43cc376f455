"""Choosing an encoding, and telling text from binary."""

import random
import zlib

import pytest

from rag_pipeline.text.decode import control_share, decode


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("café au lait", "utf-8"),
        ("café au lait", "utf-8-sig"),
        ("café au lait", "utf-16"),
        ("東京大学", "utf-16"),
        ("plain words without a mark", "utf-16-le"),
        ("plain words without a mark", "utf-16-be"),
        ("plain", "utf-32"),
        ("café", "latin-1"),
        ("naïve 5 µm at 20 °C", "latin-1"),
        ("Überprüfung der Anlage für größere Öfen", "latin-1"),
        ("Le café est situé à côté de la gare, déjà fermé.", "cp1252"),
        ("“smart” quotes – it’s 5 €", "cp1252"),
        ("Привет, как дела? Это проверка кодировки.", "cp1251"),
        ("Zażółć gęślą jaźń", "cp1250"),
        ("東京大学に行く。日本語の文章です。", "cp932"),
        ("它是一个测试文件", "gb18030"),
    ],
)
def test_text_survives_its_encoding(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded is not None
    assert decoded.text.removeprefix("\ufeff") == text
    assert decoded.undecodable == 0


def test_the_only_accent_at_the_end_of_a_long_file_decides() -> None:
    data = b"plain line\n" * 50_000 + "café\n".encode("latin-1")
    decoded = decode(data)
    assert decoded is not None
    assert (decoded.encoding, decoded.text[-5:]) == ("cp1252", "café\n")


def test_a_declared_encoding_is_believed_when_the_bytes_are_no_utf8() -> None:
    decoded = decode("# -*- coding: iso-8859-7 -*-\nx = 'αβγδε'".encode("iso-8859-7"))
    assert decoded is not None
    assert "αβγδε" in decoded.text
    unknown = decode("<meta charset=nonsense>é".encode("latin-1"))
    assert unknown is not None
    assert unknown.text.endswith("é")


def test_one_bad_byte_does_not_turn_utf8_into_something_else() -> None:
    decoded = decode("日本語 café über ".encode() * 5 + b"\xff")
    assert decoded is not None
    assert (decoded.encoding, decoded.undecodable) == ("utf-8", 1)
    assert decoded.repairs == ("1 undecodable bytes to U+FFFD",)


def test_encoded_surrogates_are_joined_where_they_are_pairs() -> None:
    decoded = decode(b"\xed\xa0\xbd\xed\xb8\x80 \xed\xa0\x80")
    assert decoded is not None
    assert decoded.text == "😀 \ud800"


def test_binary_is_told_by_its_share_of_control_bytes() -> None:
    noise = random.Random(7).randbytes(5000)
    assert decode(noise) is None
    assert decode(zlib.compress(noise)) is None
    assert decode(b"\x00" * 100) is None
    assert decode(bytes(range(16)) * 10) is None


def test_a_nul_in_a_valid_file_is_no_binary() -> None:
    """One NUL used to be taken for a sign of a binary file, and the page was lost."""
    decoded = decode(b"a page with one a\x00b inside")
    assert decoded is not None
    assert "a\x00b" in decoded.text


def test_control_share() -> None:
    assert control_share(b"") == 0
    assert control_share(b"ab\t\n") == 0
    assert control_share(b"a\x00\x01b") == 0.5
