import pytest

from rag_pipeline.paths import CollectionPaths
from rag_pipeline_tests.release.standin import publish_new


@pytest.mark.parametrize(("options", "verb"), [(["--dry-run"], "would remove"), ([], "removed")])
def test_what_goes_is_named(run, tmp_path, options, verb):
    paths = CollectionPaths(tmp_path / "home" / "wiki")
    first, _, last = (publish_new(paths, snapshot) for snapshot in ("s1", "s2", "s3"))
    (paths.staging / "snapshots" / "old").mkdir(parents=True)
    (paths.staging / "snapshots" / "new").mkdir()
    paths.latest("snapshots").write_text("new\n")
    answer = run("release", "gc", "--keep", "1", "-c", "wiki", "--home", str(paths.root.parent), *options)
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0].startswith(f"{verb} 2 releases, 2 builds, 1 staging folders")
    assert f"  release  {first.release_id}" in lines
    assert f"  build    {first.build_key}" in lines
    assert "  staging  snapshots/old" in lines
    assert last.release_id not in answer.out and "new" not in answer.out
    assert paths.release(first.release_id).is_dir() == bool(options)
