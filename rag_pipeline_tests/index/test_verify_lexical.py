from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.index.duckdb_settings import connect_for_building
from rag_pipeline.index.verify import verify_build
from rag_pipeline_tests.index.test_verify import resign
from rag_pipeline_tests.stages import build, document, pumps


def changed(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / "postings" / f"{name}.npy"
        np.save(path, change(np.load(path)))

    return damage


def heavier(weights: np.ndarray) -> np.ndarray:
    weights[0] *= 1.01
    return weights


def moved(indptr: np.ndarray) -> np.ndarray:
    """One posting goes from a term that has two to its neighbour."""
    at = int(np.flatnonzero(np.diff(indptr) > 1)[0])
    indptr[at + 1] -= 1
    return indptr


def emptied(indptr: np.ndarray) -> np.ndarray:
    indptr[1] = 0
    return indptr


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (changed("weights", heavier), "has other weights than its terms give"),
        (changed("weights", lambda w: w * np.nan), "a weight is not finite"),
        (changed("rows", lambda r: r + 8), "rows outside the chunks"),
        (changed("rows", lambda r: r[::-1].copy()), "the rows of a term are not in order"),
        (changed("indptr", moved), "a term is in fewer or more chunks than fts says"),
        (changed("indptr", emptied), "the terms' parts don't cover the postings"),
        (changed("term_hash", lambda h: h[::-1].copy()), "terms are not sorted"),
        (changed("term_hash", lambda h: h + np.uint64(1)), "terms are missing, or others than those of fts"),
    ],
)
def test_postings_that_disagree(copied_build: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(copied_build)
    resign(copied_build)
    found = verify_build(copied_build)
    assert {problem.file for problem in found} == {"postings"}
    assert any(message in problem.message for problem in found)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM {fts}.terms WHERE docid = 2", "occurrences of terms for"),
        ("UPDATE {fts}.terms SET termid = (SELECT termid FROM {fts}.dict WHERE term = 'oil')", "fts has other terms"),
        ("UPDATE {fts}.dict SET df = df + 1 WHERE term = 'pump'", "fewer or more chunks"),
        ("UPDATE {fts}.dict SET term = 'pomp' WHERE term = 'pump'", "others than those of fts"),
        ("UPDATE {fts}.docs SET len = len + 1 WHERE name = 0", "occurrences of terms for"),
        ("UPDATE {fts}.stats SET avgdl = 99", "other weights"),
        ("UPDATE chunk_tokens SET token_text = 'x' WHERE row = 0", "not what the analyzer makes"),
    ],
)
def test_tables_that_disagree(copied_build: Path, sql: str, message: str) -> None:
    connection = connect_for_building(copied_build / "index.duckdb")
    connection.execute(sql.format(fts="fts_main_chunk_tokens"))
    connection.execute("CHECKPOINT")
    connection.close()
    resign(copied_build)
    assert any(message in problem.message for problem in verify_build(copied_build))


def test_a_sound_build_has_no_faults(copied_build: Path) -> None:
    assert verify_build(copied_build) == ()


def test_a_chunk_without_a_single_term_is_no_fault(tmp_path: Path) -> None:
    built = build(tmp_path, [*pumps(), document("rule.md", "-- --", title="-")])
    assert verify_build(built.folder) == ()
