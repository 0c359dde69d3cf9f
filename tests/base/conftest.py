from tests.pages.conftest import complaints, context, page
from tests.world import world

__all__ = ["complaints", "context", "page", "world"]
