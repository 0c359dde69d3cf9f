from tests.support.observed_cluster import agent_server, observed
from tests.support.projects import world

__all__ = ["agent_server", "observed", "world"]
