"""An Observatory's records in Python, as pandas DataFrames. Needs pandas, and nothing of ours but wire/."""

from observatory.client.client import ObservatoryClient
from observatory.client.connection import ObservatoryError
from observatory.client.memory import MemorySamples

__all__ = ["MemorySamples", "ObservatoryClient", "ObservatoryError"]
