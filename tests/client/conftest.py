from tests.observed import observed, told
from tests.world import world

__all__ = ["observed", "told", "world"]
