"""Alerts: rules over what the store has, the alerts that they raise, and who is told of them."""
