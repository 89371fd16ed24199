"""The faults, a file a family; importing this package fills the catalogue."""

from tests.drill.scenarios import (  # noqa: F401 - imported for the catalogue
    answers,
    clocks,
    conversations,
    databases,
    kills_of_commands,
    kills_of_workers,
    load,
    pauses_and_rescues,
    servers,
    stores,
    versions,
)
