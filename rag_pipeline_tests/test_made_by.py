from pathlib import Path

import pytest

from rag_pipeline import made_by as module
from rag_pipeline.chunking import reuse as chunking_reuse
from rag_pipeline.defs import kept as defs_kept
from rag_pipeline.sources import reuse as sources_reuse


def test_it_follows_the_code_and_the_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text" / "deep").mkdir(parents=True)
    (tmp_path / "text" / "deep" / "a.py").write_text("a = 1")
    (tmp_path / "schema.py").write_text("b = 1")
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    made_by = module.made_by.__wrapped__
    seen = {made_by(("text", "schema"), ("numpy",))}
    assert seen == {made_by(("text", "schema"), ("numpy",))}
    (tmp_path / "text" / "deep" / "a.py").write_text("a = 2")
    seen.add(made_by(("text", "schema"), ("numpy",)))
    (tmp_path / "schema.py").write_text("b = 2")
    seen.add(made_by(("text", "schema"), ("numpy",)))
    seen.add(made_by(("text", "schema"), ("pyarrow",)))
    seen.add(made_by(("text", "schema"), ("no-such-library",)))
    assert len(seen) == 5


@pytest.mark.parametrize("user", [sources_reuse, chunking_reuse, defs_kept], ids=lambda user: user.__name__)
def test_what_callers_name_is_there(user: object) -> None:
    """A package that was renamed would otherwise be hashed as nothing."""
    for name in user.PACKAGES:  # type: ignore[attr-defined]
        folder = module.PACKAGE / name
        assert folder.is_dir() or folder.with_suffix(".py").is_file()
