"""One thread for the products of one query.

A query's products are small or bound by memory: a second thread gains little, and on a busy machine each product waits
for the slower of two. What keeps both cores busy is the next query. Long work (making lists) keeps all threads.
"""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[object]:
    """Within the block, numpy's products use the calling thread alone."""
    limited: AbstractContextManager[object] = _blas().limit(limits=1)
    return limited


@cache
def _blas() -> ThreadpoolController:
    import numpy  # noqa: F401 - the controller knows the libraries that are loaded when it is made

    return ThreadpoolController().select(user_api="blas")
