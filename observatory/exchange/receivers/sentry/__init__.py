"""The errors of a run as events of Sentry."""
