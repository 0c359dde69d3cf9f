from tests.pages.conftest import complaints, context, page
from tests.support.projects import world

__all__ = ["complaints", "context", "page", "world"]
