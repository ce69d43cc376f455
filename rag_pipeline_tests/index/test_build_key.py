from typing import Any

import pytest

from rag_pipeline.index.build_key import build_key
from rag_pipeline.settings.build import IndexSettings

INPUTS: dict[str, Any] = {
    "snapshot_key": "s",
    "chunking_key": "c",
    "vectors_key": "v",
    "fingerprint": "f",
    "settings": IndexSettings(),
    "default_access": "public",
}


def test_a_key_is_short_hex_and_repeats() -> None:
    assert len(build_key(**INPUTS)) == 20
    assert int(build_key(**INPUTS), 16) >= 0
    assert build_key(**INPUTS) == build_key(**INPUTS)


@pytest.mark.parametrize("name", INPUTS)
def test_every_input_changes_it(name: str) -> None:
    other = IndexSettings(b=0.5) if name == "settings" else "other"
    assert build_key(**{**INPUTS, name: other}) != build_key(**INPUTS)


def test_versions_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = build_key(**INPUTS)
    for name in ("FORMAT_VERSION", "BUILDER_VERSION", "ANALYZER_VERSION"):
        with monkeypatch.context() as patch:
            patch.setattr(f"rag_pipeline.index.build_key.{name}", 99)
            assert build_key(**INPUTS) != before
