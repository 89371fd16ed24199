"""What needs a person, as it stands at the head of the Overview and of a dataset: the worst first."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.model.gates import AlarmKind
from app.progress import wording
from app.progress.eta import PERSON
from app.progress.overview import Alarm, DatasetProgress, Hold, Overview
from app.progress.present import present
from app.web.marks import PAUSE
from app.web.site import Site

_MISMATCH, _HOLDS, _OTHERS, _PAUSED = 0, 1, 5, 6
_RANKS = {
    AlarmKind.INTEGRITY: 2, AlarmKind.DISK_LOW: 3, AlarmKind.ENDPOINT_DOWN: 3, AlarmKind.STALLED: 4,
    AlarmKind.WORKER_DEAD: 4, AlarmKind.BACKUP_OLD: 7,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that needs a person, and the page that tells more."""

    key: str
    rank: int  # the worst has the lowest
    dataset: str | None
    tone: str
    icon: str
    title: str
    text: str
    when: str  # since when it stands, and of when the numbers of its text are
    now: str  # the same numbers at present; empty where there are none
    href: str
    link: str


def attention(site: Site, now: Overview) -> list[Alert]:
    """Mismatches, holds and alarms, the worst first; an alarm that a hold says already is not said twice."""
    of_datasets = (alert for dataset in now.datasets for alert in _of_dataset(site, dataset, now))
    return sorted([*of_datasets, *(_alarm(site, alarm, now) for alarm in now.warnings)], key=lambda one: one.rank)


def _of_dataset(site: Site, dataset: DatasetProgress, now: Overview) -> Iterator[Alert]:
    name, page = dataset.name, site.dataset_url(dataset.name)
    mismatch = wording.mismatch(dataset.tally)
    if mismatch is not None:
        title = f"{name}: the numbers do not add up"
        key = f"alert-sum-{dataset.id}"
        yield Alert(key, _MISMATCH, name, "bad", "!", title, mismatch, "counted now", "", page, "View the dataset")
    for hold in dataset.holds:
        yield _hold(site, dataset, hold, now)


def _hold(site: Site, dataset: DatasetProgress, hold: Hold, now: Overview) -> Alert:
    name, key = dataset.name, f"alert-hold-{dataset.id}-{hold.kind}"
    since = wording.moment(hold.since_ms)
    if hold.kind == PERSON:
        page = site.dataset_url(name)
        title = f"{name}: paused by a person"
        when = f"since {since}"
        return Alert(key, _PAUSED, name, "warn", PAUSE, title, hold.reason, when, "", page, "View the dataset")
    lost = site.dataset_url(name, "/samples", state="done", verdict="missing")
    figures = present(AlarmKind.CAPTURE_LOW, name, now)
    when = f"since {since}, numbers of then"
    return Alert(
        key, _HOLDS, name, "bad", "!", f"{name}: held by {hold.kind}", hold.reason, when, figures, lost,
        "View what is lost",
    )  # fmt: skip


def _alarm(site: Site, alarm: Alarm, now: Overview) -> Alert:
    kind = alarm.kind.replace("_", " ")
    return Alert(
        key=f"alert-alarm-{alarm.id}",
        rank=_HOLDS if alarm.holds else _RANKS.get(AlarmKind(alarm.kind), _OTHERS),
        dataset=alarm.dataset,
        tone="bad" if alarm.holds else "warn",
        icon="!",
        title=f"{alarm.dataset}: {kind}" if alarm.dataset else kind,
        text=alarm.message,
        when=f"since {wording.moment(alarm.since_ms)}, numbers of {wording.moment(alarm.last_ms)}",
        now=present(alarm.kind, alarm.dataset, now),
        href=site.url("/alerts"),
        link="View the alarm",
    )
