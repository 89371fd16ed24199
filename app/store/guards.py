"""The states that a job may be moved from, as a condition of the UPDATE that moves it."""

from sqlalchemy import ColumnElement, literal_column

from app.model.states import Event, sources
from app.store.tables import JOB


def may(event: Event) -> ColumnElement[bool]:
    """The job is in a state from which `event` may move it.

    The states are written out: a list of bound ones is put into the statement's text anew at each run.
    """
    return JOB.c.state.in_([literal_column(f"'{state}'") for state in sources(event)])
