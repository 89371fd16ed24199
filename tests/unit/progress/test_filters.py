"""The words of an address become a filter, or an error that names what is known."""

import pytest

from app.model.errors import UsageError
from app.progress.filters import KEYS, Drive, Filter, Listing, Place, Sort, Way, parse


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
        ({"since": "yesterday"}, "whole number"),
        ({"since": "-1"}, "whole number"),
        ({"since": str(2**63)}, "whole number"),
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
