"""`sql` answers SELECTs and nothing else."""

import base64
import json

import pytest

from tests.integration.keeping.kit import make_filled
from tests.support.product import Product


def test_a_select_is_answered_as_json_lines_or_as_a_table(product: Product) -> None:
    make_filled(product.db)
    lines = product.run("sql", "SELECT sample_id, reasoning, raw FROM answer ORDER BY 1, 2").stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["sample_id"] for row in rows] == ["s1", "s1", "s2", "s3", "s4"]
    assert rows[1]["reasoning"] == "think 100"
    assert base64.b64decode(rows[1]["raw"]["base64"])
    table = product.run("sql", "SELECT state, count(*) n FROM job GROUP BY 1", "--format", "table").stdout.decode()
    assert table.splitlines()[0] == "state\tn"
    assert "done\t4" in table


def test_text_cannot_drive_the_terminal(product: Product) -> None:
    make_filled(product.db)
    asked = "SELECT message FROM failure LIMIT 1"
    assert b"\x1b" not in product.run("sql", asked, "--format", "table").stdout
    assert b"\x1b" not in product.run("sql", asked).stdout


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM job",
        "UPDATE job SET rank = 1",
        "PRAGMA query_only=OFF",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'other.db'",
        "CREATE TEMP TABLE t (a)",
        "SELECT load_extension('x')",
        "SELECT 1; SELECT 2",
        "nonsense",
        "SELECT * FROM no_such_table",
    ],
)
def test_whatever_else_is_said_changes_nothing(product: Product, statement: str) -> None:
    make_filled(product.db)
    before = product.db.read_bytes()
    product.run("sql", statement, code=2)
    assert product.db.read_bytes() == before
    assert not (product.folder / "other.db").exists()
