"""What the processor has, as far as this process may use it."""

import os


def cores() -> int:
    """Those this process may use, where the system can say (not macOS)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
