"""The panels of a dataset's page as JSON."""

from dataclasses import asdict
from typing import Any

from app.progress.as_json import dataset_json as progress_json
from app.progress.as_json import fraction_json
from app.progress.dataset_page import Counts, DatasetPage
from app.progress.errors import Errors
from app.progress.histogram import Histogram
from app.progress.samples_json import page_json
from app.progress.series import Point, Series
from app.progress.triage import Triage
from app.progress.verdict_table import VerdictTable


def dataset_json(page: DatasetPage) -> dict[str, Any]:
    """The whole page."""
    return {
        "progress": progress_json(page.progress),
        "config": page.config,
        "max_attempts": page.max_attempts,
        "verdicts": verdicts_json(page.verdicts),
        "series": series_json(page.series),
        "histogram": histogram_json(page.histogram),
        "triage": triage_json(page.triage),
        "errors": errors_json(page.errors),
        "listing": page.listing.words(),
        **page_json(page.samples),
    }


def counts_json(counts: Counts) -> dict[str, Any]:
    """What is known from sums alone."""
    return {
        "progress": progress_json(counts.progress),
        "verdicts": verdicts_json(counts.verdicts),
        "histogram": histogram_json(counts.histogram),
        "triage": triage_json(counts.triage),
        "errors": errors_json(counts.errors),
    }


def verdicts_json(table: VerdictTable) -> dict[str, Any]:
    """Every verdict, and what the rates speak of."""
    return {
        "rows": [
            {
                "verdict": row.verdict, "expected": row.expected, "unexpected": row.unexpected,
                "captured": row.captured, "graded": row.graded,
            }
            for row in table.rows
        ],
        "done": table.done,
        "capture": fraction_json(table.capture),
        "truncated": fraction_json(table.truncated),
        "unexpected": table.unexpected,
        "other": table.other,
    }  # fmt: skip


def series_json(series: Series) -> dict[str, Any]:
    """Points and event lines."""
    return {
        "span": series.span, "whole_run": series.is_whole_run, "step_ms": series.step_ms,
        "from_ms": series.from_ms, "until_ms": series.until_ms,
        "points": [_point(point) for point in series.points],
        "moments": [asdict(moment) for moment in series.moments],
        "moments_left_out": series.moments_left_out,
    }  # fmt: skip


def _point(point: Point) -> dict[str, Any]:
    return asdict(point) | {"capture": fraction_json(point.capture)}


def histogram_json(histogram: Histogram) -> dict[str, Any]:
    """Bins, and the done jobs that are in none."""
    return asdict(histogram) | {"jobs": histogram.jobs}


def triage_json(triage: Triage) -> dict[str, Any]:
    """The matrix, row by row."""
    rows = [{"finish": row.finish, "cells": dict(row.cells), "jobs": row.jobs} for row in triage.rows]
    return {"rows": rows, "others": triage.others}


def errors_json(errors: Errors) -> dict[str, Any]:
    """Groups and causes."""
    return asdict(errors)
