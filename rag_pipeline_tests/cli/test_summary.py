from rag_pipeline.cli.summary import not_indexed_lines, verdict_lines

ROW = {
    "strategy": "hybrid",
    "reference": "in service",
    "release": "a" * 20,
    "metric": "ndcg_at_10",
    "n": 205,
    "changed": 12,
    "before": 0.75,
    "after": 0.744,
    "difference": -0.006,
    "low": -0.015,
    "high": 0.004,
    "finding": "not worse",
    "smallest detectable loss": 0.0142,
}


def test_the_verdict_says_what_was_compared_with_which_numbers():
    champion = {**ROW, "reference": "champion", "release": "b" * 20}
    lines = verdict_lines(
        {"decision": "publish", "reason": "not worse on 205 questions", "comparisons": [ROW, champion]}
    )
    assert lines[0] == "verdict: publish; not worse on 205 questions"
    assert lines[1] == (
        f"  hybrid against the release in service {'a' * 20}: ndcg_at_10 0.750 -> 0.744 (-0.006, 90 % interval "
        "-0.015 to +0.004) on 205 questions, 12 changed: not worse; smallest detectable loss 0.014"
    )
    assert f"against the champion {'b' * 20}" in lines[2]


def test_a_first_release_has_its_reason_alone():
    assert verdict_lines({"decision": "publish", "reason": "nothing to compare with", "comparisons": []}) == [
        "verdict: publish; nothing to compare with"
    ]


def test_what_was_not_indexed_is_named():
    rows = [{"input": f"{n}.csv", "outcome": "skipped", "rule": "unsupported", "detail": ""} for n in range(7)]
    rows[0] |= {"rule": "unreadable", "detail": "no pages"}
    assert not_indexed_lines(rows[:2]) == [
        "not indexed: 0.csv (unreadable: no pages)",
        "not indexed: 1.csv (unsupported)",
    ]
    assert not_indexed_lines(rows)[5:] == ["and 2 more; --json lists them"]
    assert not_indexed_lines([]) == []
