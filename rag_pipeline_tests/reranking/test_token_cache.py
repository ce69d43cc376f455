import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.reranking.token_cache import OVERHEAD, TokenVectorCache

ROWS = np.zeros((2, 4), np.float16)
EACH = ROWS.nbytes + 2 * OVERHEAD


def test_the_least_recently_used_goes_first() -> None:
    cache = TokenVectorCache(2 * EACH)
    cache.keep({(1, 1): ROWS, (2, 2): ROWS})
    assert cache.take([(1, 1)]).keys() == {(1, 1)}
    cache.keep({(3, 3): ROWS})
    assert cache.take([(1, 1), (2, 2), (3, 3)]).keys() == {(1, 1), (3, 3)}
    assert (cache.hits, cache.misses, cache.size) == (3, 1, 2 * EACH)


def test_no_room_keeps_nothing_and_a_giant_drives_nobody_out() -> None:
    nothing = TokenVectorCache(0)
    nothing.keep({(1,): ROWS})
    assert nothing.take([(1,)]) == {} and nothing.size == 0
    cache = TokenVectorCache(EACH)
    cache.keep({(1, 1): ROWS})
    cache.keep({(2,): np.zeros((100, 4), np.float16)})
    assert cache.take([(1, 1), (2,)]).keys() == {(1, 1)}


def test_the_same_again_is_counted_once() -> None:
    cache = TokenVectorCache(10 * EACH)
    for _ in range(3):
        cache.keep({(1, 1): ROWS})
    cache.take([(1, 1), (1, 1)])
    assert (cache.size, cache.hits) == (EACH, 1)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=60), st.integers(0, 5))
def test_never_over_its_limit_and_never_wrong(steps: list[tuple[bool, int]], room: int) -> None:
    cache = TokenVectorCache(room * EACH)
    for keep, number in steps:
        key, rows = (number, number), np.full((2, 4), number, np.float16)
        if keep:
            cache.keep({key: rows})
        for found in cache.take([key]).values():
            np.testing.assert_array_equal(found, rows)
        assert 0 <= cache.size <= cache.limit
