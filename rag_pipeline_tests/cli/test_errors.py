"""Bad input: one line that says what to do next, its own exit code, and nothing changed on disk."""

from pathlib import Path

import pytest

from rag_pipeline import errors


def tree(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


@pytest.mark.parametrize(
    ("arguments", "kind", "named"),
    [
        (["reindex", "--source", "{tmp}/none"], errors.InvalidSource, "none"),
        (["reindex", "--source", "{tmp}/empty"], errors.InvalidSource, "empty"),
        (["reindex", "--source", "{tmp}/file.md", "--collection", "x"], errors.InvalidSource, "file.md"),
        (["reindex", "--collection", "nothing"], errors.UnknownName, "agent_platform"),
        (["reindex", "--source", "{tmp}/full", "--collection", "No Good"], errors.InvalidSettings, "--collection"),
        (["reindex", "--config", "{tmp}/broken.toml"], errors.InvalidSettings, "broken.toml"),
        (["reindex", "--source", "{tmp}/full", "--config", "{tmp}/names.toml", "-c", "x"], errors.UnknownName, "nope"),
        (["query", "anything"], errors.NoRelease, "reindex"),
        (["release", "list"], errors.NoRelease, "reindex"),
    ],
)
def test_one_line_and_an_exit_code_of_its_own(run, tmp_path, arguments, kind, named):
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a.md").write_text("# A\n\nSome text that is long enough to be a chunk of its own, for once.\n")
    (tmp_path / "file.md").write_text("# A\n\nText\n", "utf-8")
    (tmp_path / "broken.toml").write_text("[collections\n", "utf-8")
    (tmp_path / "names.toml").write_text('[collections.x.chunking]\nchunker = "nope"\n', "utf-8")
    before = tree(tmp_path)
    answer = run(*(a.format(tmp=tmp_path) for a in arguments))
    assert answer.code == kind.exit_code
    assert answer.out == ""
    assert len(answer.err.strip().splitlines()) == 1
    assert answer.err.startswith("error: ")
    assert named in answer.err
    assert tree(tmp_path) == before


def test_errors_as_json(run):
    answer = run("query", "anything", "--json")
    assert answer.code == errors.NoRelease.exit_code
    assert answer.json["error"]["type"] == "NoRelease"
    assert answer.err == ""


@pytest.mark.parametrize("arguments", [["no-such-command"], ["query"], ["query", "x", "--no-such-option"]])
def test_wrong_usage_is_code_two(run, arguments):
    assert run(*arguments).code == 2


def test_every_kind_of_error_has_its_own_code():
    kinds = errors.RagPipelineError.__subclasses__()
    codes = [kind.exit_code for kind in kinds]
    assert len(set(codes)) == len(codes)
    assert not {0, 1, 2} & set(codes)
