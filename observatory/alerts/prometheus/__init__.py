"""Rules from and to Prometheus' alerting rules (YAML, expressions in PromQL)."""
