"""Whether a request may come from where it comes from, on a server without keys. Pure.

Without keys the loopback address is the only lock, and a web page in a browser on this machine reaches it too: by
another site's form or script (told by Origin and Sec-Fetch-Site), or under a name that was pointed here (told by Host).
"""

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from rag_pipeline.serving.settings import is_loopback


def is_local(headers: Mapping[str, str], *, allowed_origins: Collection[str]) -> bool:
    """`headers` by lower-case name."""
    host = headers.get("host", "")
    if not is_loopback(_hostname(host)):
        return False
    origin = headers.get("origin")
    if origin is not None and origin in allowed_origins:
        return True
    if origin is not None and origin.partition("://")[2] != host:
        return False
    return headers.get("sec-fetch-site", "none") in {"none", "same-origin"}


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
