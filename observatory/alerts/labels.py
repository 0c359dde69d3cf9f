"""The labels of an alert for silences, Alertmanager and webhooks."""

from __future__ import annotations

from observatory.alerts.models import Alert


def labels_of(alert: Alert) -> dict[str, str]:
    """The alert's own labels (`worker` among them) and those of its rule and cluster; unique among open
    alerts."""
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
