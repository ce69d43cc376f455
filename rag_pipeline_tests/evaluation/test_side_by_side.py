from rag_pipeline.evaluation.comparison import compare
from rag_pipeline.evaluation.experiment import QueryRun, RankedSection
from rag_pipeline.evaluation.side_by_side import in_a_line, worse_questions
from rag_pipeline.settings.gate import GateSettings


def run(*values: tuple[float, tuple[str, ...]]) -> tuple[QueryRun, ...]:
    return tuple(
        QueryRun(
            f"q{i}",
            f"question {i}",
            (),
            "scored",
            tuple(RankedSection(f"{doc}#1", doc, 10, 20) for doc in documents),
            {"ndcg_at_10": value},
        )
        for i, (value, documents) in enumerate(values)
    )


def test_the_greatest_loss_first_with_documents_and_offsets():
    before = run((1.0, ("a.md",)), (1.0, ("b.md", "c.md", "d.md")), (0.2, ("e.md",)))
    after = run((0.9, ("x.md", "a.md")), (0.0, ()), (0.4, ("e.md",)))
    found = worse_questions(compare(before, after, settings=GateSettings(resamples=99)), before, after)
    assert [w.query_id for w in found] == ["q1", "q0"]
    assert found[1].ranking_before == ("a.md:10-20",) and found[1].ranking_after == ("x.md:10-20", "a.md:10-20")
    assert in_a_line(found[0]) == "'question 1' 1.00 -> 0.00 (was b.md:10-20, c.md:10-20; now nothing)"
