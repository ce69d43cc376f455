import threading

import pytest

from rag_pipeline.errors import BuildBusy, CorruptBuild, RagPipelineError
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.release.lock import build_lock
from rag_pipeline.release.models import prune_models
from rag_pipeline_tests.release.standin import EMBEDDER, make_build, make_release

NAMED = str(EMBEDDER["fingerprint"])


@pytest.fixture
def home(paths: CollectionPaths) -> Home:
    home = Home(paths.root.parent)
    for name in (NAMED, "unused"):
        (home.models / name).mkdir(parents=True)
        (home.models / name / "model.onnx").write_bytes(b"1234")
    return home


def test_what_a_release_of_any_collection_names_stays(home: Home) -> None:
    make_release(home.collection("wiki"), "s1")
    make_release(home.collection("other"), "s1")
    said = prune_models(home, dry_run=True)
    assert (said.fingerprints, said.bytes_freed) == (("unused",), 4)
    assert (home.models / "unused").is_dir()
    assert prune_models(home).fingerprints == ("unused",)
    assert [p.name for p in home.models.iterdir()] == [NAMED]


def test_the_model_of_the_latest_candidate_build_stays(home: Home) -> None:
    paths = home.collection("wiki")
    paths.releases.mkdir(parents=True)
    paths.staging.mkdir()
    paths.latest("candidate_build").write_text(make_build(paths, "s1"))
    assert prune_models(home).fingerprints == ("unused",)


def test_nothing_goes_while_it_is_unknown_what_is_needed(home: Home) -> None:
    release = make_release(home.collection("wiki"), "s1")
    (home.collection("wiki").release(release.release_id) / "release.json").write_text("{")
    with pytest.raises(CorruptBuild):
        prune_models(home)
    assert (home.models / "unused").is_dir()


def test_nothing_goes_during_a_build(home: Home) -> None:
    make_release(home.collection("wiki"), "s1")
    refused: list[RagPipelineError] = []

    def prune() -> None:
        try:
            prune_models(home)
        except BuildBusy as error:
            refused.append(error)

    with build_lock(home.collection("wiki"), wait_seconds=0):
        thread = threading.Thread(target=prune)
        thread.start()
        thread.join()
    assert len(refused) == 1
    assert (home.models / "unused").is_dir()
