"""Every error the package raises on purpose, as one tree.

    RagPipelineError              exit code 1
    ├── InvalidSettings           3   a settings file or override that can't be used
    ├── InvalidSource             4   a source that is missing, empty, unreadable or not a folder
    ├── UnknownName               5   an unknown collection, strategy, context, filter or principal form
    ├── InvalidQuery              6   a query that holds nothing to search for
    ├── NoRelease                 7   nothing is published yet
    ├── IncompatibleBuild         8   a build made by another model or format than the reader's
    ├── CorruptBuild              9   a build whose files don't agree with its manifest
    ├── ModelUnavailable         10   a model that is not on this machine, or isn't the expected one
    ├── MissingExtra             11   a part of the package that needs another install extra
    ├── BuildBusy                12   another run holds the collection's build lock
    ├── TooManyFailures          13   more inputs failed than the collection allows
    ├── ReleaseRefused           14   a release that may not be published
    ├── InvalidEvalSet           15   questions or labels that can't be used, or two runs over different ones
    ├── StageFailed              16   an optional stage (language model, reranker) that could not run, in strict mode
    └── StorageUnavailable       17   a data directory that is full, read-only or not a folder

A message ends with what to do next. The command line prints it as one line and exits with `exit_code`.
"""


class RagPipelineError(Exception):
    """Root of the tree."""

    exit_code = 1


class InvalidSettings(RagPipelineError):
    exit_code = 3


class InvalidSource(RagPipelineError):
    exit_code = 4


class UnknownName(RagPipelineError):
    exit_code = 5


class InvalidQuery(RagPipelineError):
    exit_code = 6


class NoRelease(RagPipelineError):
    exit_code = 7


class IncompatibleBuild(RagPipelineError):
    exit_code = 8


class CorruptBuild(RagPipelineError):
    exit_code = 9


class ModelUnavailable(RagPipelineError):
    exit_code = 10


class MissingExtra(RagPipelineError):
    exit_code = 11

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"{package!r} is not installed; this part needs the [{extra}] extra: pip install 'rag-pipeline[{extra}]'"
        )


class BuildBusy(RagPipelineError):
    exit_code = 12


class TooManyFailures(RagPipelineError):
    exit_code = 13


class ReleaseRefused(RagPipelineError):
    exit_code = 14


class InvalidEvalSet(RagPipelineError):
    exit_code = 15


class StorageUnavailable(RagPipelineError):
    """The data directory can't be written or read: full, read-only, or not a folder."""

    exit_code = 17

    @classmethod
    def of(cls, error: OSError) -> "StorageUnavailable":
        place = f"{error.filename}: " if error.filename else ""
        return cls(f"{place}{error.strerror or error}; free space, mend its permissions, or choose another --home")


class StageFailed(RagPipelineError):
    """`reason` is the short word that the marker would have carried: "timeout", "http_429", "unconfigured", ..."""

    exit_code = 16

    def __init__(self, stage: str, reason: str, advice: str) -> None:
        super().__init__(f"{stage} could not run ({reason}); {advice}")
        self.stage = stage
        self.reason = reason
