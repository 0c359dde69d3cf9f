from tests.pages.conftest import complaints, page
from tests.world import world

__all__ = ["complaints", "page", "world"]
