import subprocess
import sys

import pytest

from rag_pipeline.durable import write_json
from rag_pipeline.errors import CorruptBuild, NoRelease
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.structural import structural_checks
from rag_pipeline.release.verify import failures, release_state, served_release_verifies, verify_release
from rag_pipeline.retrieval.release_file import release_id
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline_tests.release.standin import (
    EMBEDDER,
    OWN,
    cut,
    damage,
    make_build,
    make_release,
    publish_new,
    verify,
)


def write_by_hand(paths: CollectionPaths, **changes: object) -> str:
    """A release whose file is sound, but whose content nothing here would write."""
    content = {
        "collection": "wiki",
        "build_key": "none",
        "embedder": EMBEDDER,
        "strategies": {"hybrid": {}},
        "default_strategy": "hybrid",
        "contexts": {},
        "calibration": None,
        **changes,
    }
    name = release_id(**content)  # type: ignore[arg-type]
    paths.release(name).mkdir(parents=True)
    write_json(paths.release(name) / "release.json", {**content, "release_id": name, "created": "2026"})
    return name


def test_a_sound_release(paths: CollectionPaths) -> None:
    release = make_release(paths, "s1")
    checks = verify_release(paths, release.release_id, verify=verify)
    assert list(checks) == [
        "release_file_is_intact",
        "build_verifies",
        "release_fits_build",
        "strategies_are_known",
    ]
    assert failures(checks) == ""
    assert release_state(paths, release.release_id, verify=verify) == "good"


def test_only_a_deep_look_sees_a_flipped_byte(paths: CollectionPaths) -> None:
    release = make_release(paths, "s1")
    damage(paths, release.build_key)
    assert failures(verify_release(paths, release.release_id, deep=False, verify=verify)) == ""
    checks = verify_release(paths, release.release_id, verify=verify)
    assert [name for name, check in checks.items() if not check.passed] == ["build_verifies"]
    assert "index.duckdb: has another checksum" in checks["build_verifies"].message


def test_a_cut_file(paths: CollectionPaths) -> None:
    release = make_release(paths, "s1")
    cut(paths, release.build_key)
    assert not verify_release(paths, release.release_id, deep=False, verify=verify)["build_verifies"].passed
    assert release_state(paths, release.release_id, verify=verify) == "corrupt"


def test_a_damaged_release_file_comes_alone(paths: CollectionPaths) -> None:
    release = make_release(paths, "s1")
    (paths.release(release.release_id) / "release.json").write_text("{}")
    checks = verify_release(paths, release.release_id, verify=verify)
    assert [(name, check.passed) for name, check in checks.items()] == [("release_file_is_intact", False)]
    assert release_state(paths, release.release_id, verify=verify) == "corrupt"


def test_a_missing_build(paths: CollectionPaths) -> None:
    name = write_by_hand(paths)
    checks = verify_release(paths, name, verify=verify)
    assert not checks["build_verifies"].passed and not checks["release_fits_build"].passed
    assert release_state(paths, name, verify=verify) == "missing build"


def test_a_build_of_another_model(paths: CollectionPaths) -> None:
    """Queries embedded by another model find something, only nothing that fits."""
    key = make_build(paths, "s1")
    name = write_by_hand(paths, build_key=key, embedder={**EMBEDDER, "fingerprint": "other"})
    check = verify_release(paths, name, verify=verify)["release_fits_build"]
    assert not check.passed
    assert "embedded by words-64-256, queries would be by other" in check.message


def test_a_build_under_another_name(paths: CollectionPaths) -> None:
    key = make_build(paths, "s1")
    paths.build(key).rename(paths.build("renamed"))
    name = write_by_hand(paths, build_key="renamed")
    assert f"folder renamed holds build {key}" in failures(verify_release(paths, name, verify=verify))


def test_a_strategy_of_another_version(paths: CollectionPaths) -> None:
    key = make_build(paths, "s1")
    name = write_by_hand(paths, build_key=key, strategies={"hybrid": {"sparkle": 1}})
    assert "unknown key 'sparkle'" in failures(verify_release(paths, name, verify=verify))


def test_a_build_of_another_format(paths: CollectionPaths) -> None:
    release = make_release(paths, "s1")
    manifest = paths.build(release.build_key) / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format_version": 2', '"format_version": 999'))
    assert release_state(paths, release.release_id, verify=verify) == "incompatible"
    assert "format 999" in failures(verify_release(paths, release.release_id, verify=verify))


def test_what_is_in_service(paths: CollectionPaths) -> None:
    assert not served_release_verifies(paths, verify=verify).passed
    with pytest.raises(NoRelease, match="nothing is in service yet"):
        verify_release(paths, verify=verify)
    release = publish_new(paths, "s1")
    assert served_release_verifies(paths, verify=verify).passed
    assert failures(verify_release(paths, verify=verify)) == ""
    damage(paths, release.build_key)
    result = served_release_verifies(paths, verify=verify)
    assert not result.passed
    assert "`rag-pipeline reindex -c wiki`" in result.message
    assert "`rag-pipeline release rollback -c wiki`" in result.message
    paths.current.write_text("0" * 20)
    assert "which is in service, is gone; make it again" in served_release_verifies(paths, verify=verify).message
    with pytest.raises(CorruptBuild, match="is gone"):
        verify_release(paths, verify=verify)


def test_structural_checks(paths: CollectionPaths) -> None:
    full, empty = make_release(paths, "s1"), make_release(paths, "s2", chunks=0)
    assert failures(structural_checks(paths, full.release_id, OWN, verify=verify)) == ""
    assert "index_is_not_empty: no chunk" in failures(structural_checks(paths, empty.release_id, OWN, verify=verify))
    allowed = CollectionSettings(allow_empty=True)
    assert failures(structural_checks(paths, empty.release_id, allowed, verify=verify)) == ""
    (paths.build(full.build_key) / "manifest.json").unlink()
    failed = failures(structural_checks(paths, full.release_id, OWN, verify=verify))
    assert "build_verifies: " in failed and "index_is_not_empty: " in failed
    (paths.release(full.release_id) / "release.json").unlink()
    assert list(structural_checks(paths, full.release_id, OWN, verify=verify)) == ["release_file_is_intact"]


def test_a_serving_machine_can_list_and_roll_back() -> None:
    """Its install has none of the packages that build an index."""
    code = (
        "import sys; import rag_pipeline.release.listing, rag_pipeline.release.rollback, rag_pipeline.release.publish, "
        "rag_pipeline.release.retain, rag_pipeline.release.reproduce; "
        "print([m for m in ('pyarrow', 'dagster', 'mlflow', 'torch', 'sentence_transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
