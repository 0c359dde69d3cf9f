"""The admin of receivers of runs and of what was sent to them."""

from observatory.exchange.admin import deliveries, receivers

__all__ = ["deliveries", "receivers"]
