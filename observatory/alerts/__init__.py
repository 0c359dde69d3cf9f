"""Alerting: rules over stored data, the alerts that they raise, and notifications."""
