import os
import subprocess

import numpy as np
import pytest

from rag_pipeline.arrays import new_array


def test_what_is_written_is_read_back(tmp_path):
    array = new_array(tmp_path / "a.npy", dtype=np.float32, shape=(3, 2))
    array[:] = [[1, 2], [3, 4], [5, 6]]
    array.flush()
    assert np.load(tmp_path / "a.npy").tolist() == [[1, 2], [3, 4], [5, 6]]


def test_a_full_disk_is_an_error_and_not_a_bus_error(tmp_path):
    """Writing into a sparse mapping on a full disk kills the process; here the space is asked for first."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    try:
        with pytest.raises(OSError, match=os.strerror(28)):
            new_array(disk / "a.npy", dtype=np.float32, shape=(1024, 1024))
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
