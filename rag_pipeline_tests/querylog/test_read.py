from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from rag_pipeline.errors import InvalidSource
from rag_pipeline.querylog.log import QueryLog
from rag_pipeline.querylog.read import read_log
from rag_pipeline.querylog.segments import segments
from rag_pipeline_tests.evaluation.builders import result
from rag_pipeline_tests.querylog.conftest import Clock


def test_questions_of_a_collection_with_what_was_said_of_them(open_log: Callable[..., QueryLog], clock: Clock) -> None:
    log = open_log()
    ids = []
    for name, collection in (("one", "c"), ("two", "other"), ("three", "c")):
        ids.append(log.query(replace(result("a.md#0"), query=name, collection=collection), principal=None).query_id)
        clock.pass_days(1)
    assert None not in ids
    log.feedback(ids[0], "useful", rank=1)
    log.feedback(ids[1], "not_useful")
    log.feedback(ids[0], "not_useful", comment="changed my mind")
    with segments(log.folder)[-1].path.open("ab") as file:
        file.write(b"torn {\n\n")
    rows = read_log(log.folder, days=30, collection="c", today=clock().date())
    assert [q.query for q in rows.queries] == ["one", "three"]
    assert {k: [f.rating for f in v] for k, v in rows.feedback.items()} == {ids[0]: ["useful", "not_useful"]}
    assert rows.unreadable == 1
    assert len(read_log(log.folder, days=30, today=clock().date()).queries) == 3
    since = read_log(log.folder, days=30, since=date(2026, 9, 14), today=clock().date())
    assert [q.query for q in since.queries] == ["three"]
    # Expired, though no server has removed it yet.
    assert [q.query for q in read_log(log.folder, days=2, today=clock().date()).queries] == ["three"]


def test_no_log_is_an_error_that_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidSource, match="query_log = true"):
        read_log(tmp_path / "none", days=30)
