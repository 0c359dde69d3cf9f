"""A run in OpenTelemetry's protocol (OTLP): its trace, logs and metrics."""
