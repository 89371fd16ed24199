"""The stations' statements in PostgreSQL's words.

They are written once, and SQLite is what they were measured on. Where PostgreSQL says a thing differently the compiler
says it so, and where it keeps a value differently the type does: integers have 8 bytes, texts are compared byte by
byte, and a text may hold NUL, which PostgreSQL refuses.
"""

import re
from typing import Any

from sqlalchemy import Integer, Select, String, types
from sqlalchemy.dialects.postgresql.asyncpg import AsyncpgString, PGCompiler_asyncpg, PGDialect_asyncpg
from sqlalchemy.dialects.postgresql.base import PGDDLCompiler, PGTypeCompiler

from app.store.batch import Rows

# U+0000 is kept as two characters that begin with U+0001, and so is that one itself: no two texts become the same, and
# their order stays.
_KEPT = {"\x00": "\x01\x01", "\x01": "\x01\x02"}
_MEANT = {kept: meant for meant, kept in _KEPT.items()}
_IN_JSON = {"\\u0000": "\\u0001\\u0001", "\\u0001": "\\u0001\\u0002"}
_ESCAPE = re.compile(r"\\(?:u000[01]|.)")


def kept_text(text: str) -> str:
    """A text as PostgreSQL can hold it."""
    if "\x00" not in text and "\x01" not in text:
        return text
    return re.sub("[\x00\x01]", lambda found: _KEPT[found[0]], text)


def meant_text(text: str) -> str:
    """The text that `kept_text` was given."""
    return text if "\x01" not in text else re.sub("\x01[\x01\x02]", lambda found: _MEANT[found[0]], text)


def kept_rows(rows: str) -> str:
    """The same for the texts in a JSON array of rows."""
    if "\\u000" not in rows:
        return rows
    return _ESCAPE.sub(lambda found: _IN_JSON.get(found[0], found[0]), rows)


class _Text(AsyncpgString):
    def bind_processor(self, dialect: Any) -> Any:  # noqa: ARG002 - SQLAlchemy's signature
        return lambda value: None if value is None else kept_text(value)

    def result_processor(self, dialect: Any, coltype: Any) -> Any:  # noqa: ARG002
        return lambda value: None if value is None else meant_text(value)


class _Rows(AsyncpgString):
    def bind_processor(self, dialect: Any) -> Any:  # noqa: ARG002
        return lambda value: None if value is None else kept_rows(value)


class _Compiler(PGCompiler_asyncpg):
    def _on_conflict_target(self, clause: Any, **kw: Any) -> str:
        """The clause is that of SQLite's insert, which has the same words and no named constraint."""
        if not hasattr(clause, "constraint_target"):
            clause.constraint_target = None
        text: str = super()._on_conflict_target(clause, **kw)  # type: ignore[no-untyped-call]
        return text

    def visit_json_each_func(self, fn: Any, **kw: Any) -> str:
        return f"jsonb_array_elements(CAST({self.process(fn.clauses.clauses[0], **kw)} AS JSONB))"

    def visit_json_extract_func(self, fn: Any, **kw: Any) -> str:
        """`json_extract(row, '$[3]')` of a batch: the fourth value of the row."""
        row, path = fn.clauses.clauses
        value = f"{self.process(row, **kw)} ->> {int(path.value.strip('$[]'))}"
        return f"CAST({value} AS BIGINT)" if isinstance(fn.type, Integer) else f"({value})"

    def visit_max_func(self, fn: Any, **kw: Any) -> str:
        return self._of_several("max", "greatest", fn, kw)

    def visit_min_func(self, fn: Any, **kw: Any) -> str:
        return self._of_several("min", "least", fn, kw)

    def _of_several(self, name: str, several: str, fn: Any, kw: Any) -> str:
        """SQLite's max() of several values is no aggregate."""
        name = several if len(fn.clauses.clauses) > 1 else name
        return f"{name}{self.function_argspec(fn, **kw)}"

    def visit_sum_func(self, fn: Any, **kw: Any) -> str:
        """A sum of integers is one again; PostgreSQL would make it a decimal number."""
        return f"CAST(sum{self.function_argspec(fn, **kw)} AS BIGINT)"

    def visit_avg_func(self, fn: Any, **kw: Any) -> str:
        return f"CAST(avg{self.function_argspec(fn, **kw)} AS DOUBLE PRECISION)"

    def visit_in_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        """A selection of rows that takes them is made once, whatever the plan: it takes no more than it says."""
        chosen = binary.right.element if hasattr(binary.right, "element") else binary.right
        if isinstance(chosen, Select) and chosen._for_update_arg is not None:  # noqa: SLF001
            return f"{self.process(binary.left, **kw)} = ANY (ARRAY{self.process(binary.right, **kw)})"
        text: str = self._generate_generic_binary(binary, " IN ", **kw)
        return text

    def visit_custom_op_binary(self, element: Any, operator: Any, **kw: Any) -> str:
        if operator.opstring == "<<":  # PostgreSQL shifts by a 4-byte integer
            return f"({self.process(element.left, **kw)} << CAST({self.process(element.right, **kw)} AS INT4))"
        text: str = super().visit_custom_op_binary(element, operator, **kw)  # type: ignore[no-untyped-call]
        return text


class _TypeCompiler(PGTypeCompiler):
    def visit_INTEGER(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802
        return "BIGINT"

    def visit_SMALLINT(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802
        return "BIGINT"


class _DDLCompiler(PGDDLCompiler):
    def visit_create_index(self, create: Any, *args: Any, **kw: Any) -> str:
        """Which rows an index holds is said for SQLite."""
        options = create.element.dialect_options
        if options["postgresql"]["where"] is None:
            options["postgresql"]["where"] = options["sqlite"]["where"]
        text: str = super().visit_create_index(create, *args, **kw)  # type: ignore[no-untyped-call]
        return text

    def get_column_specification(self, column: Any, **kw: Any) -> str:
        text: str = super().get_column_specification(column, **kw)  # type: ignore[no-untyped-call]
        name = self.preparer.format_column(column)
        if text.startswith(f"{name} SERIAL"):
            return text.replace(f"{name} SERIAL", f"{name} BIGSERIAL", 1)
        if isinstance(column.type, String):
            return text.replace(f"{name} TEXT", f'{name} TEXT COLLATE "C"', 1)  # the order of SQLite
        return text


class Dialect(PGDialect_asyncpg):
    """asyncpg, with what this module says."""

    driver = "thinkledger"
    supports_statement_cache = True
    statement_compiler = _Compiler
    type_compiler_cls = _TypeCompiler
    ddl_compiler = _DDLCompiler
    colspecs = {**PGDialect_asyncpg.colspecs, types.String: _Text, Rows: _Rows}  # noqa: RUF012 - the base's is none
