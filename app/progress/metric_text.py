"""Metrics in the text form of Prometheus."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from app.progress import metric_sources as read
from app.progress.metric_facts import MetricFacts
from app.progress.metrics import METRICS, Metric, MetricType, values

MEDIA_TYPE = "text/plain; version=0.0.4"  # the server adds the charset


def metric_text(facts: MetricFacts) -> bytes:
    """Every metric, in the order of their table."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once(facts))
    return generate_latest(registry)


class _Once(Collector):
    """What the library asks for the families of one moment."""

    def __init__(self, facts: MetricFacts) -> None:
        self._facts = facts

    def describe(self) -> Iterator[Family]:
        """Nothing beforehand: names that are taken twice are a matter of the table and its test."""
        return iter(())

    def collect(self) -> Iterator[Family]:
        for metric in METRICS:
            yield _family(metric, self._facts)


def _family(metric: Metric, facts: MetricFacts) -> Family:
    if metric.type is MetricType.HISTOGRAM:
        histogram = HistogramMetricFamily(metric.name, metric.says, labels=metric.labels)
        for dataset, buckets, total in read.latency(facts):
            histogram.add_metric([dataset], buckets, sum_value=total)
        return histogram
    made = CounterMetricFamily if metric.type is MetricType.COUNTER else GaugeMetricFamily
    family: CounterMetricFamily | GaugeMetricFamily = made(metric.name, metric.says, labels=metric.labels)
    for labels, value in values(metric, facts):
        family.add_metric(labels, value)
    return family
