"""Sends runs that have ended to other systems: as traces to OpenTelemetry, their errors to Sentry."""
