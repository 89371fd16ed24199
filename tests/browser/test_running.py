"""A run is watched, stopped, repaired and exported in a browser, while a worker works on the same store."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Opener, serving, until
from tests.browser.store import prompts_file
from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator


@pytest.fixture
def product(tmp_path: Path) -> Product:
    made = Product(tmp_path)
    made.db = tmp_path / "t.db"
    return made


def _import(product: Product, count: int) -> None:
    product.run("--db", "t.db", "import", "main", str(prompts_file(product.folder, count)))


def test_the_overview_moves_while_the_run_goes_on_and_focus_and_details_stay(product: Product, window: Opener) -> None:
    _import(product, 60)
    with Simulator("--latency", "fixed:0.2") as simulator, serving(product.folder) as running:
        view = window(running)
        page = view.open("/")
        page.select_option("#interval", "2")
        page.locator("#dataset-list a").first.focus()
        page.evaluate("window.mine = 1")
        with product.worker(simulator.url, "--db", "t.db", "--concurrency", "4", "--until-empty"):
            until(page, "document.querySelector('#dataset-list progress').value > 0")
            seen = page.evaluate("document.querySelector('#dataset-list progress').value")
            until(page, f"document.querySelector('#dataset-list progress').value > {seen}")
            until(page, "document.querySelector('#dataset-list progress').value == 60")
        assert page.evaluate("window.mine") == 1, "the page was loaded again"
        assert page.evaluate("document.activeElement.textContent") == "main"
        assert "100.0 %" in page.title()


def test_pause_resume_and_export_with_the_mouse(product: Product, window: Opener) -> None:
    _import(product, 6)
    with Simulator() as simulator, serving(product.folder) as running:
        view = window(running)
        page = view.open("/datasets/main")
        page.click("#do-pause")
        assert "Paused" in page.inner_text(".said")
        product.finish(simulator.url, "--db", "t.db", code=6)
        assert product.count("ready") == 6
        page.click("#do-resume")
        assert "Resumed" in page.inner_text(".said")
        product.finish(simulator.url, "--db", "t.db")
        product.run("--db", "t.db", "export", "--dataset", "main", "--output", "typed.jsonl")
        page.click("#do-export")
        page.click("#preview")
        assert "6 rows, about " in page.inner_text("#preview-line")
        page.click("#do-export")
        got = _download(page, "main.jsonl")
        assert got == (product.folder / "typed.jsonl").read_bytes()


def _download(page: Any, name: str) -> bytes:
    page.select_option("#interval", "2")
    link = page.locator("#files a[data-download]", has_text=name)
    link.wait_for()
    with page.expect_download() as started:
        link.click()
    return Path(started.value.path()).read_bytes()


def test_the_same_by_keyboard_alone(product: Product, window: Opener) -> None:
    _import(product, 4)
    with Simulator() as simulator, serving(product.folder) as running:
        page = window(running).open("/")
        page.keyboard.press("g")
        page.keyboard.press("d")
        page.wait_for_url("**/datasets")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/datasets/main")
        _press(page, "do-pause")
        page.wait_for_url("**said=paused")
        _press(page, "do-resume")
        page.wait_for_url("**said=resumed")
        product.finish(simulator.url, "--db", "t.db")
        _press(page, "do-retry")
        page.wait_for_url("**/retry")
        page.keyboard.press("/")
        page.keyboard.type("done")
        _press(page, "count")
        page.wait_for_url("**/retry?state=done**")
        _press(page, "do-retry")
        page.wait_for_url("**said=retried.4")
        assert product.count("ready") == 4
        product.finish(simulator.url, "--db", "t.db")
        _press(page, "do-export")
        page.wait_for_url("**/exports?dataset=main")
        _press(page, "do-export")
        page.wait_for_url("**said=export")
        wait_for(lambda: (product.folder / "t.db.exports" / "main.jsonl").exists(), "the exported file")
        page.keyboard.press("r")
        page.reload()
        with page.expect_download() as started:
            page.keyboard.press("d")
        assert Path(started.value.path()).read_bytes().count(b"\n") == 4


def test_a_table_in_shards_for_a_trainer_is_ordered_without_a_script_and_with_keys(
    product: Product, window: Opener
) -> None:
    _import(product, 5)
    options = ("--preset", "inline_think", "--format", "parquet", "--shard-size", "2")
    with Simulator() as simulator, serving(product.folder) as running:
        product.finish(simulator.url, "--db", "t.db")
        product.run("--db", "t.db", "export", "--dataset", "main", *options)
        page = window(running, java_script_enabled=False).open("/exports?dataset=main")
        page.locator("select[name=preset]").focus()
        page.keyboard.type("inline")
        page.locator("select[name=format]").focus()
        page.keyboard.type("parquet")
        page.locator("input[name=shard_size]").fill("2")
        page.keyboard.press("Enter")
        page.wait_for_url("**preset=inline_think**")
        said = page.inner_text("#preview-line")
        assert said.startswith("at most 5 rows, about "), said
        assert "left out 0" in said
        page.locator("#do-export").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**said=export")
        manifest = product.folder / "t.db.exports" / "main.parquet.manifest.json"
        wait_for(manifest.exists, "the manifest of the shards")
        page.reload()
        assert "captured, left out 0" in page.inner_text("#files")
        for number in range(3):
            name = f"main-0000{number}-of-00003.parquet"
            with page.expect_download() as started:
                page.locator("#files a[data-download]", has_text=name).click()
            assert Path(started.value.path()).read_bytes() == (product.folder / name).read_bytes()


def _press(page: Any, name: str) -> None:
    """Reach an element with Tab, as a keyboard does, and press Enter on it."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"{name} is not reached by Tab")


def test_a_retry_whose_count_moved_changes_nothing(product: Product, window: Opener) -> None:
    _import(product, 3)
    with Simulator() as simulator, serving(product.folder) as running:
        product.finish(simulator.url, "--db", "t.db")
        view = window(running)
        view.expected = lambda text: "409" in text
        page = view.open("/datasets/main/retry?state=done")
        product.run("--db", "t.db", "retry", "main", "--state", "done", "--yes")
        page.click("#do-retry")
        assert "3 jobs were chosen when the page was made, and 0 are now." in page.inner_text("main")


def test_a_lost_connection_is_said_and_healed(product: Product, window: Opener) -> None:
    _import(product, 2)
    with serving(product.folder) as running:
        view = window(running)
        view.expected = lambda text: "ERR_" in text
        page = view.open("/")
        page.select_option("#interval", "2")
        page.route("**/*", lambda route: route.abort())
        page.wait_for_selector("#banner:not([hidden])")
        assert "Connection lost, last update" in page.inner_text("#banner")
        page.wait_for_selector("body.stale", timeout=30_000)
        page.unroute("**/*")
        page.select_option("#interval", "5")
        page.select_option("#interval", "2")
        page.wait_for_selector("#banner[hidden]", state="attached")
        assert not page.evaluate("document.body.classList.contains('stale')")


def test_a_dataset_that_came_waits_behind_a_button(product: Product, window: Opener) -> None:
    _import(product, 2)
    with serving(product.folder) as running:
        page = window(running).open("/")
        page.select_option("#interval", "2")
        product.run("--db", "t.db", "import", "second", str(product.folder / "prompts.jsonl"))
        page.wait_for_selector("#dataset-list-news:not([hidden])")
        assert page.inner_text("#dataset-list-news") == "1 new, show"
        assert page.locator("#dataset-list tr").count() == 1
        page.click("#dataset-list-news")
        assert page.locator("#dataset-list tr").count() == 2
