"""A parquet file as rows of JSON. Needs pyarrow, the extra `parquet`."""

import datetime as dt
import decimal
import hashlib
import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.intake.split import CHUNK, Line
from app.model.errors import ResourceExhausted, UsageError

_ROWS = 256  # decoded at a time


class ParquetRows:
    """The rows of a parquet file, and what is known of the file when they have been read."""

    def __init__(self, path: str) -> None:
        if find_spec("pyarrow") is None:
            raise UsageError(f"{path}: parquet needs pyarrow. Type: pip install 'thinkledger[parquet]'")
        self.name = Path(path).name
        self.size = Path(path).stat().st_size or None
        self.bytes_read = 0
        self.sha256: str | None = None
        self._path = path

    def __iter__(self) -> Iterator[Line]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        number = 0
        try:
            digest = self._digest()
            with pq.ParquetFile(self._path, memory_map=False, pre_buffer=False) as file:
                total = file.metadata.num_rows
                for batch in file.iter_batches(batch_size=_ROWS, use_threads=False):
                    for row in batch.to_pylist():
                        number += 1
                        self.bytes_read = (self.size or 0) * number // total
                        yield Line(number, _row(row))
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise ResourceExhausted(f"{self.name} could not be read after row {number:,}: {error}.") from error
            yield Line(number + 1, b"", "damaged_file", f"{self.name} cannot be read beyond row {number:,}: {error}")
            return
        self.sha256 = digest

    def _digest(self) -> str:
        digest = hashlib.sha256()
        with Path(self._path).open("rb") as file:
            while data := file.read(CHUNK):
                digest.update(data)
        return digest.hexdigest()


def _row(row: dict[str, Any]) -> bytes:
    """The row as JSON; lone surrogates cannot occur, and what JSON has no form for stands as text."""
    return json.dumps(row, ensure_ascii=False, default=_text).encode()


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return f"({len(value):,} bytes)"
    if isinstance(value, dt.date | dt.time | dt.timedelta | decimal.Decimal):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
