"""The rules of security by number, each with the tests that hold the product to it."""

import ast
import re
from pathlib import Path

import pytest

from tests.integration.web.test_actions import CHANGES

ROOT = Path(__file__).parents[2]
HEALTH = "tests/integration/worker/test_health.py"
TROUBLE, CREATION = "tests/acceptance/test_endpoint_trouble.py", "tests/integration/store/test_creation.py"
DOORS, LIMITS, ACTIONS, EXPORTS, LANDING = (
    f"tests/integration/web/test_{name}.py" for name in ("doors", "limits", "actions", "exports", "landing")
)

DOOR, MODES = "tests/unit/web/test_door.py", "tests/acceptance/test_modes.py"

TESTED = {
    "S1 another bind than loopback takes a token": [
        (DOORS, "test_an_open_door_is_refused_before_anything_listens"),
        (DOORS, "test_unasked_it_listens_for_this_machine_alone"),
        (LIMITS, "test_a_socket_file_is_served_to_its_owner_alone_and_removed"),
    ],
    "S2 a token by default, used once by its address": [
        (DOORS, "test_the_token_file_is_made_once_for_its_owner_alone"),
        (DOORS, "test_the_login_address_works_once_and_a_session_outlives_the_server"),
        (DOORS, "test_the_token_opens_a_session_and_a_changed_one_is_none"),
        (DOOR, "test_a_session_ends_with_its_time_and_with_another_token"),
        (DOORS, "test_without_a_session_there_is_nothing_but_health_and_login"),
    ],
    "S3 constant time, five failures a minute": [
        (DOOR, "test_a_secret_is_compared_by_digests_of_one_length"),
        (DOOR, "test_after_five_failures_nobody_is_let_in_until_a_minute_has_passed"),
        (DOORS, "test_five_wrong_tokens_close_the_door_for_a_minute"),
    ],
    "S4 the Host header": [
        (DOORS, "test_names_of_this_machine_are_answered"),
        (DOORS, "test_other_names_are_not"),
        (DOORS, "test_a_name_can_be_allowed"),
    ],
    "S5 writes from other sites": [
        (DOORS, "test_a_write_from_another_site_is_refused"),
        (LIMITS, "test_a_trusted_origin_may_send_changes"),
        (LANDING, "test_anything_else_leads_to_the_overview"),
    ],
    "S6 no CORS": [(LIMITS, "test_no_page_asks_for_anything_elsewhere_or_lets_others_ask")],
    "S7 stored text is shown and never obeyed": [
        ("tests/integration/web/test_overview.py", "test_stored_text_is_shown_and_never_obeyed"),
        ("tests/integration/web/test_samples.py", "test_no_character_breaks_a_page"),
        ("tests/browser/test_pages.py", "test_no_stored_text_is_obeyed_anywhere"),
        ("tests/unit/web/test_typeset.py", "test_every_piece_is_escaped_and_made_visible"),
    ],
    "S8 no trusted markup in the repository": [
        ("tests/rules/test_source.py", "test_no_template_trusts_a_text_as_markup"),
        ("tests/rules/test_source.py", "test_no_page_has_script_style_or_assets_of_others"),
    ],
    "S9 headers on every status": [(DOORS, "test_every_status_carries_the_headers")],
    "S10 downloads are attachments": [
        (LIMITS, "test_downloads_are_attachments_of_a_harmless_kind"),
        (EXPORTS, "test_a_file_equals_that_of_the_command_and_says_what_it_is"),
    ],
    "S11 names, one folder, no links": [
        (EXPORTS, "test_no_other_name_is_taken"),
        (EXPORTS, "test_only_finished_files_of_the_folder_are_served_and_no_link_is_followed"),
        (EXPORTS, "test_a_folder_that_is_a_link_is_not_followed"),
    ],
    "S12 secrets are found nowhere": [
        (TROUBLE, "test_the_key_is_found_nowhere_in_the_store"),
        (HEALTH, "test_a_server_that_refuses_is_told_of_without_our_key_and_again_when_it_is_up"),
        ("tests/acceptance/test_preflight.py", "test_probe_does_not_show_the_key_that_a_server_echoes"),
        ("tests/unit/worker/test_fingerprint.py", "test_secrets_are_never_kept"),
        ("tests/unit/worker/test_endpoint_url.py", "test_a_secret_in_a_url_is_refused_and_not_repeated"),
    ],
    "S13 endpoints": [
        ("tests/integration/test_outgoing.py", "test_a_redirect_is_not_followed_and_no_proxy_is_asked"),
        (TROUBLE, "test_a_body_over_the_limit_fails_for_good_and_keeps_its_beginning"),
        (TROUBLE, "test_a_request_over_its_time_is_given_up_and_asked_again"),
        (ACTIONS, "test_no_change_takes_a_url_or_any_other_key_that_is_not_its_own"),
    ],
    "S14 limits of requests": [
        (LIMITS, "test_a_body_out_of_bounds_is_refused"),
        (LIMITS, "test_a_query_out_of_bounds_is_refused"),
        (LIMITS, "test_a_list_is_500_long_at_most"),
    ],
    "S15 bound parameters, known sort keys, readers that cannot write": [
        (LIMITS, "test_text_of_an_address_is_a_value_and_nothing_else"),
        ("tests/unit/progress/test_filters.py", "test_what_is_unknown_is_an_error_that_names_the_known"),
        ("tests/integration/store/test_engines.py", "test_a_reader_cannot_write"),
    ],
    "S16 a count that moved is a 409": [
        (ACTIONS, "test_a_retry_counts_first_and_is_refused_when_the_count_has_moved")
    ],
    "S17 errors show a number": [
        (LIMITS, "test_an_error_is_shown_as_a_number_and_never_as_a_stack"),
        ("tests/rules/test_security.py", "test_nothing_is_served_in_debug_mode"),
    ],
    "S18 no schema page": [(LIMITS, "test_there_is_no_schema_page")],
    "S19 files and folders for their owner": [
        (CREATION, "test_a_store_and_what_lies_beside_it_belong_to_their_owner_alone"),
        (EXPORTS, "test_the_folder_and_its_files_are_their_owners_alone"),
        (MODES, "test_files_of_a_run_are_0600_and_folders_0700"),
    ],
    "S20 limits of an import": [
        ("tests/unit/intake/test_strict_json.py", "test_what_is_unsafe_is_refused_by_name"),
        ("tests/unit/intake/test_strict_json.py", "test_64_levels_and_4_mib_are_taken"),
    ],
    "S21 every change leaves a line": [
        (ACTIONS, "test_every_change_leaves_a_line_in_the_trail"),
        (EXPORTS, "test_an_export_leaves_a_line_in_the_trail"),
        ("tests/integration/web/test_datasets.py", "test_alarms_are_shown_counted_and_acknowledged"),
        ("tests/rules/test_security.py", "test_every_change_of_the_dashboard_is_among_the_tested_ones"),
    ],
}  # fmt: skip


def test_all_rules_are_named() -> None:
    assert [rule.split()[0] for rule in TESTED] == [f"S{number}" for number in range(1, 22)]


@pytest.mark.parametrize("rule", TESTED)
def test_each_rule_has_its_tests(rule: str) -> None:
    assert TESTED[rule]
    for file, name in TESTED[rule]:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        found = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
        ]
        assert len(found) == 1, f"{file}: {name}"


def test_every_change_of_the_dashboard_is_among_the_tested_ones() -> None:
    """Of each it is tested that a read-only server refuses it, and that it leaves a line."""
    made = [
        found
        for path in sorted((ROOT / "app" / "web").glob("*.py"))
        for found in re.findall(r"(?<!def )\baction\(\s*site,|@post\(", path.read_text(encoding="utf-8"))
    ]
    assert made.count("@post(") == 3  # the two doors of every change, and the login
    assert len(made) - 3 == len(CHANGES)


def test_nothing_is_served_in_debug_mode() -> None:
    said = [path.read_text(encoding="utf-8") for path in (ROOT / "app" / "web").glob("*.py")]
    assert [found for text in said for found in re.findall(r"\bdebug=(\w+)", text)] == ["False"]
