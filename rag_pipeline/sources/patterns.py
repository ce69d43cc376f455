"""Include and exclude patterns over POSIX paths.

`*` and `?` stay within one name, `**` crosses folders; a pattern without a slash is matched with the last name, at any
depth (`*.md`), one with a slash with the whole path (`guides/**/*.md`). Letter case counts.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache


def path_filter(include: Sequence[str], exclude: Sequence[str]) -> Callable[[str], str]:
    """A function that says why a path is left out: "excluded", "not_included", or "" when it is wanted.

    A folder's path ends with a slash and is "excluded" when all below it are, so that it need not be walked.
    """
    wanted = [_compiled(p) for p in include]
    unwanted = [_compiled(p) for p in exclude]

    def reason(path: str) -> str:
        if path.endswith("/"):
            folder = path.rstrip("/")
            return "excluded" if any(p.fullmatch(folder) or p.fullmatch(path) for p in unwanted) else ""
        if any(p.fullmatch(path) for p in unwanted):
            return "excluded"
        return "" if any(p.fullmatch(path) for p in wanted) else "not_included"

    return reason


@lru_cache(maxsize=1000)
def _compiled(pattern: str) -> re.Pattern[str]:
    body = pattern.removeprefix("./").removeprefix("/")
    anywhere = "" if "/" in body.rstrip("/") else "(?:.*/)?"
    if body.endswith("/"):
        body += "**"
    return re.compile(anywhere + _translated(body), re.S)


def _translated(pattern: str) -> str:
    out = []
    i = 0
    while i < len(pattern):
        rest = pattern[i:]
        if rest.startswith("**/"):
            out.append("(?:.*/)?")
            i += 3
        elif rest.startswith("**"):
            out.append(".*")
            i += 2
        elif rest[0] in "*?":
            out.append("[^/]*" if rest[0] == "*" else "[^/]")
            i += 1
        elif rest[0] == "[" and (end := rest.find("]", 2)) > 0:
            inside = rest[1:end].replace("\\", r"\\").replace("[", r"\[")
            out.append(f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
            i += end + 1
        else:
            out.append(re.escape(rest[0]))
            i += 1
    return "".join(out)
