"""Files that hold no rows are refused whole, with a sentence that says what they look like."""

import gzip
import io
import json
import random
import tarfile
from pathlib import Path

import pytest
import zstandard

from tests.support.product import Product

NOISE = random.Random(7).randbytes(20_000)
ROWS = b'{"prompt": "x"}\n' * 20
HTML = b"\n<!DOCTYPE html>\n<html><head><title>404</title></head>\n" + b"<p>not found</p>\n" * 200


def tar(form: int) -> bytes:
    """An archive with one file of rows."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        about = tarfile.TarInfo("rows.jsonl")
        about.size = len(ROWS)
        archive.addfile(about, io.BytesIO(ROWS))
    return made.getvalue()


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"

FILES = {
    "page.jsonl": (HTML, "an HTML page, perhaps one that says why a download failed"),
    "feed.jsonl": (b'<?xml version="1.0"?><rss></rss>', "XML"),
    "paper.pdf": (b"%PDF-1.7\n" + NOISE, "a PDF document"),
    "photo.json": (b"\x89PNG\r\n\x1a\n" + NOISE, "a PNG image"),
    "office.csv": (b"PK\x03\x04" + NOISE, "a zip archive (or an office document, which is one)"),
    "table.jsonl": (b"PAR1" + NOISE, "a parquet table; name it with the ending .parquet"),
    "pointer.jsonl": (LFS, "a pointer of Git LFS; fetch the file itself with `git lfs pull`"),
    "wide.jsonl": (ROWS.decode().encode("utf-16"), "text in UTF-16; save it as UTF-8"),
    "packed.jsonl": (b"BZh9" + NOISE, "a bzip2 file; unpack it first"),
    "posix.jsonl": (tar(tarfile.USTAR_FORMAT), "a tar archive; unpack it first"),
    "gnu.jsonl": (tar(tarfile.GNU_FORMAT), "a tar archive; unpack it first"),
    "noise.jsonl": (NOISE, "binary data"),
    "zeros.jsonl": (bytes(5000), "binary data"),
}


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_it_is_refused_with_what_it_looks_like_and_nothing_is_made(product: Product, name: str) -> None:
    data, words = FILES[name]
    (product.folder / name).write_bytes(data)
    done = product.run("import", "d", name, code=2)
    assert (
        done.stderr.decode()
        .strip()
        .endswith(f"{name} looks like {words}. Nothing was imported: expected are rows, such as JSON lines.")
    )
    assert [path.name for path in product.folder.iterdir()] == [name]
    assert f"looks like {words}" in product.run("import", "d", name, "--dry-run", code=2).stderr.decode()


@pytest.mark.parametrize("name", ["page.jsonl", "noise.jsonl"])
def test_what_is_packed_or_piped_is_looked_at_as_well(product: Product, name: str) -> None:
    data, words = FILES[name]
    (product.folder / f"{name}.gz").write_bytes(gzip.compress(data))
    (product.folder / f"{name}.zst").write_bytes(zstandard.compress(data))
    for given, stdin in ((f"{name}.gz", None), (f"{name}.zst", None), ("-", data)):
        assert f"looks like {words}" in product.run("import", "d", given, code=2, stdin=stdin).stderr.decode()
    assert product.value("SELECT count(*) FROM dataset") == 0
    assert not list(product.folder.glob("*rejects*"))


def test_odd_rows_among_others_are_rejects_of_their_own(product: Product) -> None:
    rows = [b'{"prompt": "a"}', bytes(3000), NOISE.replace(b"\n", b" "), b"<html>", b'{"prompt": "b"}']
    (product.folder / "rows.jsonl").write_bytes(b"\n".join(rows))
    done = product.run("import", "d", "rows.jsonl", code=6)
    assert b"d: 5 rows, 2 added, 0 there already, 0 dropped, 3 rejected" in done.stdout


@pytest.mark.parametrize("text", ["\x1b[1mhuge\x1b[0m\n" * 50, "\u2028é中🙂\n" * 50, "no rows at all\n" * 9])
def test_text_that_is_none_of_these_is_looked_at_line_by_line(product: Product, text: str) -> None:
    (product.folder / "text.jsonl").write_text(text)
    assert b"rejected: not_json" in product.run("import", "d", "text.jsonl", code=6).stdout


@pytest.mark.parametrize("after", ["", "d", "00", "  "])
def test_a_row_with_the_letters_of_a_tar_archive_at_its_place_is_imported(product: Product, after: str) -> None:
    row = json.dumps({"prompt": ""})[:-2]
    text = f"{row}{'m' * (257 - len(row))}ustar{after} on bread"
    assert text[257:262] == "ustar"
    (product.folder / "rows.jsonl").write_text(text + '"}\n')
    product.run("import", "d", "rows.jsonl")
    assert product.value("SELECT count(*) FROM sample") == 1
