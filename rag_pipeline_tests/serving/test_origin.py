import pytest

from rag_pipeline.serving.origin import is_local


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"host": "127.0.0.1:8470"}, True),
        ({"host": "localhost"}, True),
        ({"host": "[::1]:8470"}, True),
        ({"host": "127.0.0.1:8470", "origin": "http://127.0.0.1:8470", "sec-fetch-site": "same-origin"}, True),
        ({}, False),
        ({"host": "evil.example"}, False),  # a name that was pointed at loopback
        ({"host": "127.0.0.1.evil.example"}, False),
        ({"host": "[::1"}, False),
        ({"host": "127.0.0.1:8470", "origin": "https://evil.example"}, False),
        ({"host": "127.0.0.1:8470", "origin": "http://127.0.0.1:9999"}, False),
        ({"host": "127.0.0.1:8470", "origin": "null"}, False),
        ({"host": "127.0.0.1:8470", "sec-fetch-site": "cross-site"}, False),
        ({"host": "127.0.0.1:8470", "sec-fetch-site": "same-site"}, False),
        ({"host": "127.0.0.1:8470", "origin": "https://wiki.example.org", "sec-fetch-site": "cross-site"}, True),
        ({"host": "evil.example", "origin": "https://wiki.example.org"}, False),
    ],
    ids=str,
)
def test_is_local(headers: dict[str, str], expected: bool) -> None:
    assert is_local(headers, allowed_origins=("https://wiki.example.org",)) is expected
