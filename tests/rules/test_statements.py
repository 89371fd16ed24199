"""Every statement is looked at: SQLite is asked how it would run it, and no plan may walk through a large table."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from functools import partial, wraps
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import pytest
from sqlalchemy import Connection, bindparam, create_engine, event
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.selectable import SelectBase

from app.store.tables import METADATA
from tests.integration.store.kit import make

ROOT = Path(__file__).parents[2]
LARGE = {"job", "sample", "response", "body", "reading", "failure", "token_ids", "turn"}
SMALL = {
    "dataset", "counter", "worker", "hold", "unread", "meta", "endpoint", "source", "gate_window", "alarm", "evaluator",
    "candidates", "leased",  # bounded parts: what a list searches for one page, what workers hold
}  # fmt: skip
KEYED = {  # read by a key alone
    "endpoint_health", "bucket", "event", "failure_group", "triage", "reasoning_length", "latency", "worker_minute",
}  # fmt: skip

# Partial indexes: each holds the jobs of one state only.
PARTIAL = re.compile(r"USING (?:COVERING )?INDEX (?:job_ready|job_alone|job_waiting|job_leased)\b")


def modules() -> Iterator[ModuleType]:
    """The modules of statements of each station that has some."""
    for path in sorted((ROOT / "app").glob("*/statements*.py")):
        yield importlib.import_module(f"app.{path.parent.name}.{path.stem}")


def functions() -> list[tuple[str, Callable[[], Executable]]]:
    """Every named statement, and every variant of one that comes in several."""
    return [
        (f"{module.__name__.split('.')[1]}.{name}{said}", variant)
        for module in modules()
        for name, function in vars(module).items()
        if not name.startswith("_") and getattr(function, "__module__", None) == module.__name__ and callable(function)
        for said, variant in variants(function)
    ]


def variants(function: Callable[..., Executable]) -> Iterator[tuple[str, Callable[[], Executable]]]:
    """A statement may take enums, and is then looked at with each of their values."""
    kinds = [kind for name, kind in get_type_hints(function).items() if name != "return"]
    if not kinds:
        yield "", function
        return
    for chosen in product(*kinds):
        variant = wraps(function)(partial(function, *chosen))
        variant.cache_info = function.cache_info  # type: ignore[attr-defined]
        yield f"[{'-'.join(chosen)}]", variant


FUNCTIONS = functions()


class Planned(Exception):
    """Raised in the place of running a statement, with the lines of its plan."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    path = tmp_path_factory.mktemp("plans") / "t.db"
    make(path)
    engine = create_engine(f"sqlite:///{path}")
    event.listen(engine, "before_cursor_execute", _explain)
    with engine.connect() as opened:
        yield opened
    engine.dispose()


def _explain(_connection: Any, cursor: Any, sql: str, values: Any, *_: Any) -> None:
    raise Planned([row[3] for row in cursor.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()])


def plan(store: Connection, statement: Any) -> list[str]:
    """The lines of EXPLAIN QUERY PLAN; every parameter that has no value is bound to a number."""
    row = _row_to_write(statement)
    compiled = statement.compile(dialect=store.dialect, column_keys=list(row) or None)
    values = row | {
        name: [1, 2] if bind.expanding else 1 for name, bind in compiled.binds.items() if bind.effective_value is None
    }
    with pytest.raises(Planned) as planned:
        store.execute(statement, values)
    store.rollback()
    lines: list[str] = planned.value.args[0]
    return lines


def _row_to_write(statement: Any) -> dict[str, object]:
    """A bare insert writes the columns of the row that it is given: all of them, for this purpose."""
    if not getattr(statement, "is_insert", False) or statement.select is not None or statement._values:
        return {}
    return {column.name: b"1" if column.type.python_type is bytes else 1 for column in statement.table.columns}


def walks(lines: list[str]) -> list[str]:
    """The lines that walk through a large table, or through an alias of one, from end to end."""
    scans = [line for line in lines if line.startswith("SCAN ") and "VIRTUAL TABLE" not in line]
    return [line for line in scans if line.split()[1] not in SMALL and not PARTIAL.search(line)]


def test_there_are_statements_of_every_station_that_speaks_sql() -> None:
    stations = {name.split(".")[0] for name, _ in FUNCTIONS}
    assert stations >= {"intake", "leasing", "responses", "progress", "export"}
    assert len(FUNCTIONS) > 60


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_no_statement_walks_through_a_large_table(
    store: Connection, name: str, function: Callable[[], Executable]
) -> None:
    lines = plan(store, function())
    assert walks(lines) == [], lines


def test_the_check_itself_sees_a_walk(store: Connection) -> None:
    from sqlalchemy import select

    from app.store.tables import JOB, RESPONSE

    for statement in (
        select(JOB.c.id).where(JOB.c.preview == bindparam("text")),
        select(JOB.c.id).order_by(JOB.c.id),
        select(RESPONSE.c.raw_bytes).where(RESPONSE.c.worker_id == bindparam("worker")),
        select(JOB.alias("another").c.id),
        JOB.update().values(rank=1),
    ):
        assert walks(plan(store, statement)), statement
    assert not walks(plan(store, select(JOB.c.id).where(JOB.c.id == bindparam("job"))))


def test_a_module_of_statements_holds_functions_without_arguments_and_nothing_that_runs_them() -> None:
    for module in modules():
        for name, value in vars(module).items():
            if name.startswith("__") or getattr(value, "__module__", module.__name__) != module.__name__:
                continue
            if inspect.ismodule(value) or not callable(value):
                continue
            assert not inspect.isclass(value), f"{module.__name__}.{name}"
            assert not inspect.iscoroutinefunction(value), f"{module.__name__}.{name}"


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_a_statement_is_built_once_says_what_it_does_and_is_typed(
    name: str, function: Callable[[], Executable]
) -> None:
    assert inspect.getdoc(function), name
    built = function()
    assert isinstance(built, Executable | SelectBase), name
    assert function() is built or not hasattr(function, "cache_info"), name


def test_every_table_that_grows_with_the_data_counts_as_large() -> None:
    assert set(METADATA.tables) == (LARGE | SMALL | KEYED) - {"candidates", "leased"}
