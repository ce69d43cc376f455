import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.index.groups import group_rows


@given(st.lists(st.integers(0, 6), max_size=40))
def test_every_group_has_its_rows_ascending(numbers: list[int]) -> None:
    groups = group_rows(np.array(numbers, np.int32), groups=7)
    for group in range(7):
        assert groups.of(group).tolist() == [row for row, number in enumerate(numbers) if number == group]
    assert groups.of(-1).tolist() == groups.of(7).tolist() == []


def test_no_groups() -> None:
    assert group_rows(np.zeros(0, np.int32), groups=0).of(0).tolist() == []
