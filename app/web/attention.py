"""What needs a person, as it stands at the head of the Overview and of a dataset."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.progress import wording
from app.progress.overview import Overview
from app.web.marks import PAUSE
from app.web.site import Site


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that needs a person, and the page that tells more."""

    tone: str
    icon: str
    title: str
    text: str
    href: str
    link: str


def attention(site: Site, now: Overview) -> Iterator[Alert]:
    """Mismatches, holds and alarms, in this order; an alarm that a hold says already is not said twice."""
    for dataset in now.datasets:
        page = site.dataset_url(dataset.name)
        mismatch = wording.mismatch(dataset.tally)
        if mismatch is not None:
            yield Alert("bad", "!", f"{dataset.name}: the numbers do not add up", mismatch, page, "View the dataset")
        for hold in dataset.holds:
            by_person = hold.kind == "person"
            kind = "paused by a person" if by_person else f"held by {hold.kind}"
            title = f"{dataset.name}: {kind} since {wording.moment(hold.since_ms)}"
            if by_person:
                yield Alert("warn", PAUSE, title, hold.reason, page, "View the dataset")
            else:
                lost = site.dataset_url(dataset.name, "/samples", state="done", verdict="missing")
                yield Alert("bad", "!", title, hold.reason, lost, "View what is lost")
    for alarm in now.warnings:
        about = f"{alarm.dataset}: " if alarm.dataset else ""
        title = f"{about}{alarm.kind.replace('_', ' ')} since {wording.moment(alarm.since_ms)}"
        tone = "bad" if alarm.holds else "warn"
        yield Alert(tone, "!", title, alarm.message, site.url("/alerts"), "View the alarm")
