"""Whatever a run lays beside its store belongs to its owner alone, whatever the umask allows."""

import os
import stat

from tests.acceptance.test_main_job import prompts
from tests.support.dashboard import dashboard
from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator


def test_files_of_a_run_are_0600_and_folders_0700(product: Product) -> None:
    before = os.umask(0)
    try:
        product.import_prompts("main", prompts(8))
        with (
            Simulator("--latency", "fixed:0.2") as simulator,
            dashboard(product.folder, "--no-auth", db=product.db.name) as web,
            product.worker(simulator.url, "--concurrency", "1", "--until-empty") as worker,
        ):
            wait_for(lambda: product.count("done") >= 2, "two answers")
            assert web.send("/api/v1/exports", {"dataset": "main"}).status == 202
            exported = product.folder / "thinkledger.db.exports" / "main.jsonl.manifest.json"
            wait_for(exported.exists, "an export")
            during = _modes(product)
            worker.wait(0)
        product.run("backup", "copy.db")
        after = _modes(product)
    finally:
        os.umask(before)
    for modes, needed in ((during, {".workers", ".spool", "-wal", "-shm"}), (after, {".exports", "copy.db"})):
        assert all(any(end in name for name in modes) for end in needed), modes
        assert {name: mode for name, mode in modes.items() if mode != "drwx------" and mode != "-rw-------"} == {}


def _modes(product: Product) -> dict[str, str]:
    """All that is named after the store, and what lies in its folders."""
    own = [*product.folder.glob("thinkledger.db*"), *product.folder.glob("copy.db*")]
    beside = [*own, *(path for folder in own if folder.is_dir() for path in folder.rglob("*"))]
    return {str(path.relative_to(product.folder)): stat.filemode(path.lstat().st_mode) for path in beside}
