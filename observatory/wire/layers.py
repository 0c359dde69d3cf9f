"""The series layers of the timeline. The metrics that a layer draws name it as their `layer` (metrics.py).

Values of each worker come in bands of 64 workers, in the order in which they were first seen: a page
asks for those whose rows are in sight. The first band of a layer bears its name, the next ones are
`memory.1`, `memory.2` …; `memory.all` is all bands together: the least, the mean and the most of all workers.
`memory.each` has one value of each worker in wider bins, which is little enough to compare all of them.
"""

from __future__ import annotations

from observatory.wire.metrics import METRICS

LAYER_OF_METRIC = {metric.name: metric.layer for metric in METRICS.values() if metric.layer}
LAYERS: dict[str, tuple[str, ...]] = {
    layer: tuple(name for name, of in LAYER_OF_METRIC.items() if of == layer)
    for layer in dict.fromkeys(LAYER_OF_METRIC.values())
}

SPANS, PREFIXES, EVENTS, PROFILE = "spans", "prefixes", "events", "profile"
OF_WORKERS = (SPANS, "memory", "cpu", "gil", "event-loop", "network", "disk", "descriptors", "gpu", "custom")
"""the layers that have a band for each BAND workers"""
BAND = 64
ALL = "all"
EACH = "each"
OF_EACH = (SPANS, "memory", "cpu", "gil", "gpu")
"""the layers that have one value of each worker"""


def band_layer(layer: str, band: int) -> str:
    """The name of a band of a layer."""
    return f"{layer}.{band}" if band else layer
