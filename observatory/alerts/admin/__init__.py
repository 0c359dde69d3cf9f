"""Django admin classes for alerts."""

from observatory.alerts.admin import channels, deliveries, rules, silences

__all__ = ["channels", "deliveries", "rules", "silences"]
