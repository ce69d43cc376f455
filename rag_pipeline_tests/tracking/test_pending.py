import shutil

import pytest

from rag_pipeline.errors import UnknownName
from rag_pipeline.settings.tracking import TrackingSettings
from rag_pipeline.tracking import checks, pending
from rag_pipeline.tracking.checks import evaluations_are_logged
from rag_pipeline.tracking.pending import Outcome, log_releases
from rag_pipeline.tracking.state import LoggedRun, read_state, write_state

SENT = LoggedRun("sent", "c", "sqlite:///x", "2026-01-01T00:00:00Z", run_id="r")


def not_sent(at: str) -> LoggedRun:
    return LoggedRun("not_sent", "c", "http://x", at, error="http://x does not answer")


@pytest.fixture
def tried(evaluated, monkeypatch):
    """(evaluated, names of the evaluations that were tried); each of them fails if `down` is set."""
    names: list[str] = []

    def log(record, *, settings, environ):
        names.append(record.folder.name)
        logged = not_sent("2026-09-09T00:00:00Z") if environ.get("down") else SENT
        write_state(record.folder, logged)
        return logged

    monkeypatch.setattr(pending, "log_evaluation", log)
    return evaluated, names


def outcomes(evaluated, **environ: str) -> list[Outcome]:
    return list(log_releases(evaluated.settings, evaluated.paths, [evaluated.release_id], environ=environ))


def test_every_evaluation_of_the_releases_is_logged(tried):
    evaluated, names = tried
    shutil.copytree(evaluated.folder, evaluated.folder.with_name("second"))
    assert [o.logged for o in outcomes(evaluated)] == [SENT, SENT]
    assert sorted(names) == sorted([evaluated.folder.name, "second"])
    with pytest.raises(UnknownName):
        list(log_releases(evaluated.settings, evaluated.paths, ["0" * 20], environ={}))


def test_a_server_that_is_down_is_waited_for_once_and_no_evaluation_is_starved(tried):
    evaluated, names = tried
    for name, at in (("b", "2026-03-03T00:00:00Z"), ("a", "2026-04-04T00:00:00Z")):
        shutil.copytree(evaluated.folder, evaluated.folder.with_name(name))
        write_state(evaluated.folder.with_name(name), not_sent(at))
    never, b, a = evaluated.folder.name, "b", "a"
    told = [outcomes(evaluated, down="yes") for _ in range(4)]
    assert [[o.logged is not None for o in found] for found in told] == [[True, False, False]] * 4
    assert names[:3] == [never, b, a]
    assert len(outcomes(evaluated)) == 3
    assert {read_state(evaluated.folder.with_name(n)).state for n in (never, a, b)} == {"sent"}


def test_rankings_that_cannot_be_read_are_told_and_hold_up_nothing(tried):
    evaluated, names = tried
    broken = evaluated.folder.with_name("0-broken")
    broken.mkdir()
    (broken / "retrieval.json").write_text("{")
    first, second = outcomes(evaluated)
    assert first.logged.state == "not_sent" and "retrieval.json" in first.logged.error
    assert second.logged == SENT and names == [evaluated.folder.name]


def test_the_check_passes_when_all_was_sent_and_fails_when_not():
    ok = evaluations_are_logged([Outcome("r1", "e1", SENT)])
    assert ok.passed and ok.numbers == {"sent": 1, "not_sent": 0}
    bad = evaluations_are_logged([Outcome("r1", "e1", SENT), Outcome("r1", "e2", not_sent("x"))])
    assert not bad.passed and "does not answer" in bad.message and "eval log" in bad.message
    assert bad.numbers == {"sent": 1, "not_sent": 1}


def test_the_check_says_why_nothing_was_sent(evaluated, monkeypatch):
    off = evaluated.settings.model_copy(update={"tracking": TrackingSettings(enabled=False)})
    found = list(log_releases(off, evaluated.paths, [evaluated.release_id], environ={}))
    switched_off = evaluations_are_logged(found)
    assert switched_off.passed and "switched off" in switched_off.message
    monkeypatch.setattr(checks, "is_installed", lambda: False)
    missing = evaluations_are_logged([Outcome("r1", "e1", not_sent("x"))])
    assert missing.passed and "rag-pipeline[eval]" in missing.message
