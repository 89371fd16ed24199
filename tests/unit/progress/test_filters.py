"""The words of an address become a filter, or an error that names what is known."""

import pytest

from app.model.errors import UsageError
from app.progress.filters import KEYS, Drive, Filter, Listing, Place, Sort, Way, parse
from app.progress.times import typed


def test_every_key_is_understood() -> None:
    words = {
        "state": "done", "verdict": "missing", "finish": "stop", "cause": "busy", "found": "tag",
        "flag": "cut_upstream", "q": "s1",
        "min_reasoning": "1", "max_reasoning": "2", "attempt_gt": "3", "since": "4", "until": "5", "worker": "6",
        "sort": "newest", "after": "77.8", "per": "9",
    }  # fmt: skip
    assert set(words) == set(KEYS)
    wanted = Filter("done", "missing", "stop", "busy", "tag", "cut_upstream", "s1", 1, 2, 3, 4, 5, 6)
    assert parse(words) == Listing(wanted, Sort.NEWEST, Place(77, 8), 9)


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("0", 0),
        ("1772373751500", 1_772_373_751_500),
        ("2026-03-01", 1_772_323_200_000),
        ("2026-03-01T14:02", 1_772_373_720_000),
        ("2026-03-01 14:02:31 UTC", 1_772_373_751_000),
        ("2026-03-01T14:02:31.5", 1_772_373_751_500),
        ("2026-03-01T14:02:31Z", 1_772_373_751_000),
        ("2026-03-01T16:02:31+02:00", 1_772_373_751_000),
        ("2026-03-01T12:02:31.123-0200", 1_772_373_751_123),
        ("9999-12-31T23:59:59.999", 253_402_300_799_999),
    ],
)
def test_a_time_is_typed_as_people_write_it_or_as_milliseconds(text: str, at_ms: int) -> None:
    wanted = parse({"since": text, "until": text}).wanted
    assert (wanted.since, wanted.until) == (at_ms, at_ms)
    assert parse({"since": typed(at_ms)}).wanted.since == at_ms


def test_an_empty_value_says_nothing() -> None:
    assert parse({"state": "", "q": "", "after": "", "per": ""}) == Listing()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"status": "done"}, "state, verdict"),
        ({"state": "lost"}, "ready, leased"),
        ({"verdict": "good"}, "captured_field"),
        ({"cause": "x"}, "unreachable"),
        ({"found": "x"}, "field, tag, both, neither"),
        ({"flag": "no_trace"}, "text_short_for_tokens, cut_upstream"),
        ({"sort": "random"}, "order, id, newest"),
        ({"since": "yesterday"}, "a time such as 2026-03-01T14:02"),
        ({"since": "-1"}, "milliseconds since 1970"),
        ({"since": str(2**63)}, "milliseconds since 1970"),
        ({"until": "253402300800000"}, "milliseconds since 1970"),
        ({"until": "2026-13-01"}, "a time such as"),
        ({"until": "1969-12-31"}, "a time such as"),
        ({"until": "2026-03-01T24:00"}, "a time such as"),
        ({"since": "\u0662026-03-01"}, "a time such as"),
        ({"worker": "\u0663"}, "whole number"),
        ({"per": "0"}, "1 to 500"),
        ({"per": "501"}, "1 to 500"),
        ({"after": "x.1"}, "no place"),
        ({"after": "1"}, "no place"),
        ({"sort": "id", "after": "a\x00.1"}, "no place"),
        ({"q": "\ud800"}, "no stored text"),
        ({"finish": "a\x00"}, "no stored text"),
    ],
)
def test_what_is_unknown_is_an_error_that_names_the_known(words: dict[str, str], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        parse(words)


@pytest.mark.parametrize(
    ("wanted", "sort"),
    [
        (Filter(), Sort.ORDER),
        (Filter(verdict="missing"), Sort.ORDER),
        (Filter(q="s"), Sort.ID),
        (Filter(min_reasoning=0), Sort.SHORTEST),
        (Filter(until=9), Sort.NEWEST),
    ],
)
def test_a_filter_brings_the_order_in_which_its_rows_are_found_at_once(wanted: Filter, sort: Sort) -> None:
    assert parse(wanted.words()) == Listing(wanted, sort)


@pytest.mark.parametrize(
    ("wanted", "sort", "drive"),
    [
        (Filter(), Sort.ORDER, Drive.ALL),
        (Filter(state="done"), Sort.ORDER, Drive.STATE),
        (Filter(state="done", verdict="missing"), Sort.ORDER, Drive.VERDICT),
        (Filter(state="done", finish="stop", found="tag"), Sort.ORDER, Drive.CELL),
        (Filter(finish="stop"), Sort.ORDER, Drive.FINISH),
        (Filter(found="tag"), Sort.ORDER, Drive.ALL),
        (Filter(state="failed", cause="busy"), Sort.ORDER, Drive.CAUSE),
        (Filter(verdict="missing", flag="cut_upstream"), Sort.ORDER, Drive.FLAG),
        (Filter(verdict="missing"), Sort.LONGEST, Drive.REASONING),
    ],
)
def test_the_narrowest_index_is_read(wanted: Filter, sort: Sort, drive: Drive) -> None:
    assert wanted.read_by(sort) == (drive, Way.DOWN if sort is Sort.LONGEST else Way.UP)


@pytest.mark.parametrize("place", [Place("a.b.c", 0), Place("", 3), Place("\u00e9 %", 1)])
def test_a_place_in_the_order_of_ids_survives_its_words(place: Place) -> None:
    assert Place.parse(str(place), Sort.ID) == place


def test_a_list_gives_its_own_address() -> None:
    listing = parse({"q": "s", "sort": "newest", "after": "5.1", "per": "10"})
    assert listing.words() == {"q": "s", "sort": "newest", "per": "10"}
