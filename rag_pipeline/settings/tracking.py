"""Where evaluations are logged, besides the data directory."""

from typing import Annotated

from pydantic import Field

from rag_pipeline.settings.base import Strict


class TrackingSettings(Strict):
    """MLflow. `MLFLOW_TRACKING_URI` in the environment wins over `uri`; an address with a password goes there."""

    enabled: bool = True
    """False: evaluations stay on disk and nothing is sent."""
    uri: str = ""
    """A server's address or a database; "" = mlflow.db in the data directory."""
    experiment: str = "rag-pipeline"
    """A collection's runs are in the MLflow experiment "<experiment>/<collection>"."""
    artifacts: str = ""
    """Where a database's artifacts go; "" = mlartifacts in the data directory. A server has its own place."""
    seconds: Annotated[int, Field(ge=1, le=300)] = 10
    """Longest wait for one answer of a server; one more try is made."""
