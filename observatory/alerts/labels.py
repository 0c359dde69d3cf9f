"""The labels that an alert has for silences, for Alertmanager, and for receivers of its payload."""

from __future__ import annotations

from observatory.alerts.models import Alert


def labels_of(alert: Alert) -> dict[str, str]:
    """Its own (`worker` among them) and what it is of; no other alert that is open has the same."""
    cluster = alert.cluster
    return {
        **{str(name): str(value) for name, value in alert.labels.items()},
        "alertname": alert.rule.name,
        "severity": alert.severity,
        "cluster": cluster.name,
        "cluster_id": str(cluster.pk),
        "project": cluster.project.slug,
        **({"target": cluster.target.name} if cluster.target else {}),
    }
