from tests.observed import agent_server, observed
from tests.world import world

__all__ = ["agent_server", "observed", "world"]
