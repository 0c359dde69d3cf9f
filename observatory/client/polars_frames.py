"""DataFrames of polars."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars


def polars_frame(frame: pd.DataFrame) -> polars.DataFrame:
    """The same rows and columns. Missing values are null; times keep their microseconds and are in UTC."""
    return polars.DataFrame([_series(str(name), frame[name]) for name in frame.columns])


def _series(name: str, column: Any) -> polars.Series:
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        naive = column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("M8[us]")
        return polars.Series(name, naive).dt.replace_time_zone("UTC")
    if column.dtype.kind in "iufbM":
        return polars.Series(name, column.to_numpy(), nan_to_null=True)
    if isinstance(column.dtype, pd.StringDtype):
        return polars.Series(name, column.tolist(), polars.String)
    return polars.Series(name, [None if _is_missing(one) else one for one in column], strict=False)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)
