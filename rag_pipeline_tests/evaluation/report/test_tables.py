from rag_pipeline.evaluation.arms import arms_of
from rag_pipeline.evaluation.experiment import QueryRun
from rag_pipeline.evaluation.report.tables import Cell, heat_map, rows_table
from rag_pipeline_tests.evaluation.builders import experiment


def question(i: int, value: float, *tags: str) -> QueryRun:
    return QueryRun(f"q{i}", "?", tags, "scored", metrics={"ndcg_at_10": value})


def test_the_heat_map_has_means_by_tag_and_counts():
    one = (question(0, 1.0, "x"), question(1, 0.5, "x", "y"), QueryRun("q2", "?", ("z",), "unresolved"))
    two = (question(0, 0.2, "x"), question(1, 0.0, "x", "y"))
    headings, rows = heat_map(arms_of([experiment("r", {"a": one, "b": two})]), metric="ndcg_at_10")
    assert headings == ("", "all", "x (2)", "y (1)")
    assert [[c.text for c in row] for row in rows] == [["a", "0.75", "0.75", "0.50"], ["b", "0.10", "0.10", "0.00"]]
    assert rows[0][1] == Cell("0.75", 0.75, "number")


def test_values_that_are_missing_are_a_dash():
    headings, rows = rows_table([{"a": "x", "b": 0.12345, "c": None, "d": 12}, {"a": "y"}], ("a", "b", "c", "d"))
    assert headings == ("a", "b", "c", "d")
    assert [[c.text for c in row] for row in rows] == [["x", "0.123", "–", "12"], ["y", "–", "–", "–"]]
