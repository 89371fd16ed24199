"""Every page in a browser: no error, no finding, no text that is obeyed, in both themes and on a small screen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Opener, serving, until
from tests.browser.store import HOSTILE, LONG, LONG_NAME, everything, hostile, troubled
from tests.support.dashboard import TOKEN, Dashboard, dashboard

PAGES = (
    "/", "/datasets", "/datasets/B1_glaive", "/datasets/UltraChat", "/datasets/ShareGPT",
    "/datasets/B1_glaive/samples", "/datasets/B1_glaive/samples?state=failed", "/datasets/B1_glaive/samples/s1",
    "/datasets/B1_glaive/samples/s32", "/datasets/ShareGPT/samples/s1", "/datasets/B1_glaive/retry?state=done",
    "/datasets/B1_glaive/reparse", "/workers", "/alerts", "/exports?dataset=B1_glaive", "/login",
)  # fmt: skip

_LONGEST = f"/datasets/{LONG_NAME}"
OVERHANG = """[document.documentElement, ...document.querySelectorAll(".card")]
    .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText.slice(0, 80))"""
WORST = (
    "/", "/datasets", _LONGEST, f"{_LONGEST}/samples?sort=order", f"{_LONGEST}/samples?state=failed",
    f"{_LONGEST}/samples/s1", f"{_LONGEST}/samples/s4", f"{_LONGEST}/retry?state=failed", f"{_LONGEST}/reparse",
    "/workers", "/alerts", f"/exports?dataset={LONG_NAME}",
)  # fmt: skip


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("full")
    everything(folder)
    with serving(folder) as running:
        yield running


@pytest.fixture(scope="module")
def worst(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("worst")
    troubled(folder)
    with serving(folder) as running:
        yield running


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("attacked")
    hostile(folder)
    with serving(folder) as running:
        yield running


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_finding(full: Dashboard, window: Opener, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    rules = {} if scheme == "light" else {"runOnly": ["color-contrast"]}  # nothing else depends on the theme
    view = window(full, color_scheme=scheme)
    found = {}
    for path in PAGES:
        page = view.open(path)
        _open_all(page)
        violations = axe.run(page, options=rules).response["violations"]
        bad = [
            (one["id"], node["target"], node["failureSummary"][:200])
            for one in violations if one["impact"] in ("serious", "critical") for node in one["nodes"][:3]
        ]  # fmt: skip
        if bad:
            found[path] = bad
    assert found == {}


def _open_all(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_cut_where_names_are_long_and_all_is_wrong(worst: Dashboard, window: Opener, width: int) -> None:
    view = window(worst, viewport={"width": width, "height": 740})
    wider = {}
    for path in (*WORST, view.open(WORST[3]).locator("[data-line]").nth(1).get_attribute("href")):
        found = view.open(path).evaluate(OVERHANG)
        if found:
            wider[path] = found
    assert wider == {}


def test_the_five_pages_stand_in_one_line_on_a_phone(worst: Dashboard, window: Opener) -> None:
    links = window(worst, viewport={"width": 360, "height": 740}).open("/").locator(".bar nav a").all()
    assert len(links) == 5
    assert len({link.bounding_box()["y"] for link in links}) == 1


def test_no_table_of_a_dataset_hides_a_column_on_a_phone(full: Dashboard, worst: Dashboard, window: Opener) -> None:
    wider = "[...document.querySelectorAll('.scroll.whole')].map((one) => one.scrollWidth - one.clientWidth)"
    for running, path in ((full, "/datasets/B1_glaive"), (worst, _LONGEST)):
        page = window(running, viewport={"width": 360, "height": 740}).open(path)
        assert page.evaluate(wider) == [0, 0, 0], path


@pytest.mark.parametrize("width", [360, 700, 780, 1000, 1120])
def test_nothing_is_cut_on_any_screen(full: Dashboard, window: Opener, width: int) -> None:
    view = window(full, viewport={"width": width, "height": 740})
    wider = {}
    for path in PAGES:
        found = view.open(path).evaluate(OVERHANG)
        if found:
            wider[path] = found
    assert wider == {}


@pytest.mark.parametrize("width", [360, 1280])
def test_many_alarms_leave_room_for_the_sums_and_open_on_demand(worst: Dashboard, window: Opener, width: int) -> None:
    page = window(worst, viewport={"width": width, "height": 740}).open("/")
    assert page.locator("#summary").bounding_box()["y"] < 740 / 2 + 200
    for hidden in page.locator("#attention details p").all():
        assert not hidden.is_visible()
    page.click("#more-alerts-head")
    last = page.locator("#more-alerts details").last
    last.locator("summary").press("Enter")
    assert "thinkledger backup copies and verifies the store" in last.inner_text().replace("\n", " ")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_no_name_of_an_option_is_broken(worst: Dashboard, full: Dashboard, window: Opener) -> None:
    lines = "[...document.querySelectorAll('.option')].map((one) => one.getClientRects().length)"
    for width in (360, 420, 700, 1280):
        for running, path in ((worst, "/"), (worst, "/alerts"), (full, "/alerts")):
            page = window(running, viewport={"width": width, "height": 740}).open(path)
            _open_all(page)
            found = page.evaluate(lines)
            assert set(found) == {1}, (width, path)
            assert len(found) >= 2
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_small_screen_tables_become_cards(full: Dashboard, window: Opener) -> None:
    page = window(full, viewport={"width": 360, "height": 740}).open("/")
    assert page.evaluate("getComputedStyle(document.querySelector('#dataset-list tr')).display") == "block"


def test_the_theme_is_chosen_and_kept(full: Dashboard, window: Opener) -> None:
    page = window(full, color_scheme="dark").open("/")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.click("#theme")
    assert page.inner_text("#theme") == "Theme: light"
    light = page.evaluate(ground)
    assert light != dark
    page.goto(f"{full.url}/workers")
    assert page.evaluate(ground) == light
    page.keyboard.press("t")
    assert (page.inner_text("#theme"), page.evaluate(ground)) == ("Theme: dark", dark)


def test_one_sample_is_read_copied_and_left(full: Dashboard, window: Opener) -> None:
    page = window(full, permissions=["clipboard-read", "clipboard-write"]).open("/datasets/B1_glaive/samples")
    page.locator("[data-line]").first.click()
    page.wait_for_url("**/samples/s1")
    assert page.inner_text("#pane-reasoning pre") == "think 0"
    assert page.inner_text("#pane-content pre") == "answer 0"
    assert page.inner_text("#pane-raw mark") == "</think>"
    assert "byte for byte" in page.inner_text("#check")
    page.keyboard.press("2")
    page.keyboard.press("y")
    until(page, "document.getElementById('announcer').textContent === 'reasoning copied'")
    assert page.evaluate("navigator.clipboard.readText()") == "think 0"
    with page.expect_download() as started:
        page.keyboard.press("d")
    assert Path(started.value.path()).read_bytes() == b"think 0"
    page.locator("#pane-content [data-do=invisibles]").click()
    assert page.inner_text("#pane-content pre") == "answer\u00b70"
    page.locator("#pane-content [data-do=invisibles]").click()
    assert page.inner_text("#pane-content pre") == "answer 0"
    page.keyboard.press("j")
    page.wait_for_url("**/samples/s2")
    page.keyboard.press("k")
    page.wait_for_url("**/samples/s1")


def test_a_long_text_says_that_it_is_cut_and_is_shown_whole_when_asked(full: Dashboard, window: Opener) -> None:
    page = window(full).open("/datasets/B1_glaive/samples/s32")
    assert "64.0 KiB of" in page.inner_text("#pane-reasoning .cut")
    page.click("#all-reasoning")
    page.wait_for_url("**whole=reasoning**")
    page.wait_for_selector("#pane-reasoning pre")
    assert page.evaluate("document.querySelector('#pane-reasoning pre').textContent.length") == len(LONG)


def test_next_and_previous_stay_within_the_filter(full: Dashboard, window: Opener) -> None:
    page = window(full).open("/datasets/B1_glaive/samples?verdict=truncated")
    page.locator("[data-line]").first.click()
    page.wait_for_url("**/samples/s21?verdict=truncated")
    assert page.locator("[data-next]").count() == 0
    page.goto(f"{full.url}/datasets/B1_glaive/samples/s3?verdict=split_from_content")
    page.click("#next-sample")
    page.wait_for_url("**/samples/s4?verdict=split_from_content")


def test_filters_are_folded_on_a_phone_and_stand_open_where_there_is_room(full: Dashboard, window: Opener) -> None:
    page = window(full, viewport={"width": 360, "height": 740}).open("/datasets/B1_glaive/samples")
    assert not page.is_visible("select[name=state]")
    page.click("#more-filters summary")
    page.select_option("select[name=state]", "done")
    page.fill("input[name=since]", "2020-01-01T00:00")
    page.keyboard.press("Enter")
    page.wait_for_url("**state=done**since=2020-01-01T00%3A00**")
    assert page.is_visible("select[name=state]")
    assert page.input_value("input[name=since]") == "2020-01-01T00:00"
    assert page.locator("[data-line]").count() == 37
    wide = window(full).open("/datasets/B1_glaive/samples")
    assert wide.is_visible("select[name=state]")
    assert not wide.is_visible("#more-filters summary")


def test_no_stored_text_is_obeyed_anywhere(attacked: Dashboard, window: Opener) -> None:
    view = window(attacked)
    page = view.open("/datasets/attack/samples?sort=order")
    links = page.eval_on_selector_all("[data-line]", "all => all.map((one) => one.getAttribute('href'))")
    assert len(links) == len(HOSTILE)
    paths = ["/", "/datasets", "/datasets/attack", "/workers", "/alerts", "/exports?dataset=attack", *links]
    paths += [f"/datasets/attack/samples?finish={text}" for text in ("%3Cscript%3Ewindow.hit=1%3C/script%3E", "%22%3E")]
    for path in paths:
        view.open(path)
        assert page.evaluate("window.hit") is None, path
        assert page.locator("main iframe, main img, main script").count() == 0, path
    page.keyboard.press("j")
    assert page.evaluate("window.hit") is None
    shown = view.open(links[0]).inner_text("main")
    assert HOSTILE[0] in shown


def test_the_login_address_opens_the_door_once(tmp_path: Path, window: Opener) -> None:
    everything(tmp_path)
    with dashboard(tmp_path) as running:
        view = window(running)
        view.expected = lambda text: "401" in text
        page = view.page
        page.goto(running.login)
        page.wait_for_selector("#dataset-list")
        assert "#" not in page.url
        page.context.clear_cookies()
        page.goto(running.login)
        page.wait_for_selector(".problem")
        page.fill("#token", TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector("#dataset-list")


def test_help_opens_and_closes_by_key_and_by_button(full: Dashboard, window: Opener) -> None:
    page = window(full).open("/")
    page.keyboard.press("?")
    assert page.is_visible("#keys")
    page.keyboard.press("Escape")
    assert not page.is_visible("#keys")
    page.click("#help")
    page.locator("#keys button").click()
    assert not page.is_visible("#keys")


def test_a_page_works_without_a_script(full: Dashboard, window: Opener) -> None:
    page = window(full, java_script_enabled=False).open("/")
    assert page.locator("[data-script]").first.is_hidden()
    page.click("text=B1_glaive")
    page.click("#all-samples")
    page.locator("[data-line]").first.click()
    assert "think 0" in page.inner_text("#pane-reasoning")
