"""The only thing Dagster loads: every configured collection's assets, checks, job, schedule and sensor."""

import dagster as dg

from rag_pipeline.defs.graph import all_definitions
from rag_pipeline.settings.load import load_settings


@dg.definitions
def defs() -> dg.Definitions:
    return all_definitions(load_settings())
