"""Ask jobs again: a page that counts them first, and a change that is refused when the count has moved."""

from dataclasses import dataclass
from typing import Any

from litestar import get

from app.leasing.datasets import dataset_of
from app.leasing.retry import RETRYABLE, Retry, Selected, Selection, retry, select
from app.model.errors import Refused, UsageError
from app.model.lease import Cause
from app.model.loss_flags import LossFlag
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.progress.gathering import overview
from app.progress.series import Span
from app.web.actions import Outcome, action
from app.web.answers import Answer, Asked
from app.web.asking import Said, query
from app.web.frame import frame
from app.web.pages import polled, show
from app.web.said import SAID
from app.web.site import Site

PATH = "/datasets/{name:str}/retry"
CHOSEN = ("state", "verdict", "cause", "flag")
MOST_TOKENS = 10_000_000


@dataclass(frozen=True, slots=True)
class Choice:
    """One box of the form."""

    key: str
    word: str
    chosen: bool


def routes(site: Site) -> list[Any]:
    """The page and the change."""

    @get(PATH)
    async def page(request: Asked, name: str) -> Answer:
        asked = query(request, *CHOSEN, "max_tokens", "span")
        span = asked.word("span", Span)
        dataset = await dataset_of(site.store, name)
        counted = chosen(asked) and not polled(request)
        selected = await select(site.store, dataset.id, selection(asked)) if counted else None
        around = frame(site, await overview(site.store), "Datasets", f"Retry {name}")
        return show(
            request, "retry/page.html", around,
            name=name, dataset=site.dataset_url(name, span=span), span=span, here=site.dataset_url(name, "/retry"),
            choices=choices(asked), kinds=[] if selected is None else kinds(selected),
            jobs=None if selected is None else selected.jobs,
            said={key: value for key in CHOSEN if (value := asked.text(key)) is not None},
            max_tokens=asked.number("max_tokens", 1, MOST_TOKENS),
        )  # fmt: skip

    async def change(request: Asked, form: Said) -> Outcome:
        dataset = await dataset_of(site.store, str(request.path_params["name"]))
        span = form.word("span", Span)
        which, expected = selection(form), form.number("expected_count")
        if expected is None:
            raise UsageError("expected_count is missing: say how many jobs you have seen.")
        selected = await select(site.store, dataset.id, which)
        if selected.jobs != expected:
            raise Refused(
                f"{expected:,} jobs were chosen when the page was made, and {selected.jobs:,} are now. "
                "Nothing was changed. Look again, and confirm the new number."
            )
        moved = await retry(site.store, Retry(dataset.id, which, form.number("max_tokens", 1, MOST_TOKENS)), selected)
        go = site.dataset_url(dataset.name, "", span=span, **{SAID: f"retried.{moved}"})
        return Outcome(go, data={"dataset": dataset.name, "chosen": selected.jobs, "retried": moved})

    return [page, *action(site, PATH, (*CHOSEN, "max_tokens", "expected_count"), change)]


def chosen(asked: Said) -> bool:
    """Whether anything was chosen."""
    return any(asked.text(key) is not None for key in CHOSEN)


def selection(asked: Said) -> Selection:
    """What the fields choose; several of one kind stand with commas between them."""
    return Selection(
        asked.several("state", JobState), asked.several("verdict", Verdict), asked.several("cause", Cause),
        asked.word("flag", LossFlag),
    )  # fmt: skip


def choices(asked: Said) -> tuple[tuple[str, tuple[Choice, ...]], ...]:
    """The links of the form by kind; each is chosen alone, which is what a page needs."""
    known = (("state", RETRYABLE), ("verdict", tuple(Verdict)), ("cause", tuple(Cause)), ("flag", tuple(LossFlag)))
    return tuple(
        (key, tuple(Choice(key, str(word), asked.text(key) == word) for word in words)) for key, words in known
    )


def kinds(selected: Selected) -> list[tuple[str, str]]:
    """The chosen jobs by kind, the largest numbers first."""
    return [
        (f"{kind.state}{f' {kind.why}' if kind.why else ''}", f"{count:,}")
        for kind, count in selected.kinds.most_common()
    ]
