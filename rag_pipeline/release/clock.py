"""When and who, as releases, verdicts and the history write them down."""

import getpass
import os
import socket
from datetime import UTC, datetime


def now() -> str:
    """ISO 8601, UTC, to the microsecond, so that text order is time order: "2026-03-01T00:00:00.000000Z"."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def whoami() -> str:
    """ "user@host" of this process; a container's user may have a number and no name."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"
