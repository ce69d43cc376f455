"""The FOLDER of the commands about eval sets."""

from pathlib import Path
from typing import Any

import click


class EvalSetFolder(click.Path):
    """An empty name, as of a variable that a script left unset, would be the working directory."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Raises BadParameter."""
        if not str(value).strip():
            self.fail("is empty; name a folder, `.` for the working directory", parameter, context)
        return super().convert(value, parameter, context)
