import json
from pathlib import Path

import pytest

from rag_pipeline.cli.main import main
from rag_pipeline.release.history import read_all_changes, read_history
from rag_pipeline.release.stored import read_champion
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import pumps


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    return Served(tmp_path / "home", monkeypatch)


@pytest.fixture
def run(served: Served, capsys: pytest.CaptureFixture[str]):
    def command(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["release", "champion", *arguments, "--collection", "test", "--home", str(served.home.root)])
        return int(str(ended.value.code)), capsys.readouterr().out

    return command


def test_pinning_and_unpinning_are_recorded_and_change_nothing_in_service(served, run):
    release = served.publish(pumps()).release_id
    assert run() == (0, "test: no champion is pinned\n")
    assert run(release, "--reason", "the best so far")[0] == 0
    assert read_champion(served.paths) == release
    assert json.loads(run("--json")[1]) == {"collection": "test", "champion": release, "previous": release}
    assert run(release, "--reason", "again") == (0, f"test: champion {release} -> {release}\n")
    assert run("--unpin", "--reason", "another corpus") == (0, f"test: champion {release} -> none\n")
    assert read_champion(served.paths) is None
    changes = read_all_changes(served.paths)
    assert [(c.action, c.release_id, c.previous, c.reason) for c in changes] == [
        ("pinned", release, None, "the best so far"),
        ("unpinned", release, release, "another corpus"),
    ]
    assert read_history(served.paths) == ()  # what was served is another question


def test_a_change_needs_a_reason_and_a_release_that_exists(served, run):
    release = served.publish(pumps()).release_id
    assert run(release)[0] == 2 and run(release, "--reason", " ")[0] == 2 and run("--unpin")[0] == 2
    assert run(release, "--unpin", "--reason", "both")[0] == 2
    assert run("--reason", "of what?")[0] == 2
    assert run("0" * 20, "--reason", "unknown")[0] == 5
    assert read_champion(served.paths) is None and read_all_changes(served.paths) == ()


def test_a_damaged_pin_is_replaced(served, run):
    release = served.publish(pumps()).release_id
    served.paths.champion.write_text("nonsense\n")
    assert run("--unpin", "--reason", "it was damaged")[0] == 0
    assert run(release, "--reason", "sound again")[0] == 0 and read_champion(served.paths) == release
