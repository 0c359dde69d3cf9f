"""The memory of clusters during runs, with the interface of distributed's MemorySampler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

GIB = 2**30


class MemorySamples:
    """A series of bytes for each run, by name. Times are UTC without a zone, as in MemorySampler."""

    def __init__(self, samples: Mapping[str, pd.Series]) -> None:
        self.samples = dict(samples)

    def to_pandas(self, *, align: bool = False) -> pd.DataFrame:
        """A column for each run. `align`: times are relative to the first sample of each run."""
        found = {}
        for name, series in self.samples.items():
            series = series[~series.index.duplicated()].sort_index()
            if align and len(series):
                series.index = series.index - series.index[0]
            found[name] = series
        frame = pd.DataFrame(found)
        # between samples the last value holds; after the end of a run there is none
        return frame.ffill().where(frame.bfill().notna()) if len(found) > 1 else frame

    def plot(self, *, align: bool = False, **options: Any) -> Any:
        """Draws GiB over time; needs matplotlib. `options` are those of pandas.DataFrame.plot."""
        frame = self.to_pandas(align=align) / GIB
        return frame.plot(
            **{"xlabel": "since the start" if align else "UTC", "ylabel": "Memory (GiB)", **options}
        )
