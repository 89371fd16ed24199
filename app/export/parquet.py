"""Lines as a parquet file. Needs pyarrow, the extra `parquet`; written in row groups, so memory does not grow."""

import json
from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, BinaryIO

from app.export.columns import CALL_KEYS, FUNCTION_KEYS, MESSAGE_KEYS, TURN_KEYS, Column, Row, cells, column_of
from app.export.hashing import Hashing, Written
from app.export.presets import SHAPES, Preset
from app.model.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

# A row group ends with the line that makes it so large: it depends on the lines alone, never on pages of the store.
GROUP_BYTES = 8 * 2**20
GROUP_ROWS = 2_000
ZSTD_LEVEL = 3


def refuse_without_pyarrow() -> None:
    """Say which extra parquet needs."""
    if find_spec("pyarrow") is None:
        raise UsageError("--format parquet needs pyarrow. Type: pip install 'thinkledger[parquet]'")


class TableSink:
    """Takes lines and writes them as a table. `stream` is None where only sizes and hashes are wanted."""

    def __init__(self, stream: BinaryIO | None, preset: Preset) -> None:
        import pyarrow.parquet as pq

        self._preset = preset
        self._file, self._lines = _Stream(stream), Hashing(None)
        self._schema = schema_of(preset)
        self._writer = pq.ParquetWriter(
            self._file, self._schema, compression="zstd", compression_level=ZSTD_LEVEL, use_dictionary=False,
            write_statistics=False,
        )  # fmt: skip
        self._waiting: list[Row] = []
        self._waiting_bytes = 0
        self.rows = 0

    def write(self, lines: Iterable[bytes]) -> None:
        """Write whole lines."""
        for line in lines:
            self._lines.write(line)
            self._waiting.append(cells(self._preset, line))
            self._waiting_bytes += len(line)
            self.rows += 1
            if self._waiting_bytes >= GROUP_BYTES or len(self._waiting) == GROUP_ROWS:
                self._write_group()

    def _write_group(self) -> None:
        import pyarrow as pa

        table = pa.Table.from_pylist(self._waiting, schema=self._schema)
        self._writer.write_table(table, row_group_size=len(self._waiting))
        self._waiting, self._waiting_bytes = [], 0

    @property
    def so_far(self) -> tuple[int, str]:
        """The bytes of all lines up to now, and their hash."""
        return self._lines.bytes, self._lines.sha256

    def finish(self) -> Written:
        """End the file; the stream itself stays open."""
        if self._waiting:
            self._write_group()
        self._writer.close()
        return Written(self.rows, self._file.bytes, self._file.sha256, self._lines.bytes, self._lines.sha256)

    def close(self) -> None:
        """Let go of the stream: a writer that goes away writes its end."""
        self._file.cut()
        self._writer.close()


class _Stream(Hashing):
    """What pyarrow asks of a file."""

    closed = False

    def tell(self) -> int:
        return self.bytes

    def close(self) -> None:
        """Whoever owns the file closes it."""


def schema_of(preset: Preset) -> "pa.Schema":
    """The columns of a preset, and in the file's own notes which of them hold JSON."""
    import pyarrow as pa

    shape = SHAPES[preset]
    columns = {key: column_of(preset, key) for key in (*shape.fields, *shape.optional)}
    as_json = [key for key, column in columns.items() if column is Column.JSON]
    notes = {"thinkledger": json.dumps({"preset": preset, "json_columns": as_json})}
    return pa.schema([pa.field(key, _type(column)) for key, column in columns.items()], notes)


def _type(column: Column) -> Any:
    import pyarrow as pa

    text = pa.string()
    function = pa.struct([pa.field(key, text) for key in FUNCTION_KEYS])
    odd = {"index": pa.int64(), "function": function}
    calls = pa.list_(pa.struct([pa.field(key, odd.get(key, text)) for key in CALL_KEYS]))
    message = pa.struct([pa.field(key, calls if key == "tool_calls" else text) for key in MESSAGE_KEYS])
    return {
        Column.TEXT: text,
        Column.INTEGER: pa.int64(),
        Column.TOKENS: pa.list_(pa.int64()),
        Column.MASK: pa.list_(pa.int8()),
        Column.MESSAGES: pa.list_(message),
        Column.TURNS: pa.list_(pa.struct([pa.field(key, text) for key in TURN_KEYS])),
        Column.JSON: text,
    }[column]


def rows_of(path: Any) -> int:
    """How many rows a parquet file says that it has."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return int(file.metadata.num_rows)
