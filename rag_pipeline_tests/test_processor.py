import os

import pytest

from rag_pipeline.processor import cores


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system can't bind a process to cores")
def test_only_the_cores_this_process_may_use() -> None:
    before = os.sched_getaffinity(0)
    assert cores() == len(before)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, before)
