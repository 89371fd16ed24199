"""Alarms as JSON."""

from dataclasses import asdict
from typing import Any

from app.progress.alerts import AlarmLine, AlertsPage


def alerts_json(page: AlertsPage) -> dict[str, Any]:
    """The whole page."""
    return {
        "open": len(page.open),
        "standing": [_alarm(alarm) for alarm in page.standing],
        "cleared": [_alarm(alarm) for alarm in page.cleared],
        "evaluation": asdict(page.evaluation) | {"stale": page.evaluation.stale},
    }


def _alarm(alarm: AlarmLine) -> dict[str, Any]:
    evidence = alarm.evidence
    place = None
    if evidence is not None:
        words = {} if evidence.wanted is None else evidence.wanted.words()
        place = {"page": evidence.page, "dataset": evidence.dataset, "filter": words}
    return asdict(alarm) | {"evidence": place}
