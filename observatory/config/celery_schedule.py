"""What Celery's beat sends, and every how many seconds (settings.CELERY_BEAT_SCHEDULE)."""

from __future__ import annotations

from typing import Any

CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "beat": {"task": "observatory.runtime.tasks.beat", "schedule": 10},
    "build-tiles": {
        "task": "observatory.replay.tasks.build_tiles",
        "schedule": 15,
        "options": {"expires": 15},
    },
    "end-silent-clusters": {"task": "observatory.collect.tasks.end_silent_clusters", "schedule": 30},
    "watch-recording": {
        "task": "observatory.collect.tasks.watch_recording",
        "schedule": 10,
        "options": {"expires": 10},
    },
    "discover": {"task": "observatory.collect.tasks.discover", "schedule": 15, "options": {"expires": 15}},
    "record-own-metrics": {
        "task": "observatory.runtime.tasks.record_own_metrics",
        "schedule": 30,
        "options": {"expires": 30},
    },
    "sweep-jobs": {
        "task": "observatory.exchange.tasks.sweep_jobs",
        "schedule": 60,
        "options": {"expires": 60},
    },
    "resume-deletions": {
        "task": "observatory.clusters.tasks.resume_deletions",
        "schedule": 60,
        "options": {"expires": 60},
    },
    "repeat": {
        "task": "observatory.alerts.notifying.tasks.repeat",
        "schedule": 60,
        "options": {"expires": 60},
    },
    "alerts": {
        "task": "observatory.alerts.tasks.start_round",
        "schedule": 10,
        "options": {"expires": 10},
    },
    "archive-clusters": {
        "task": "observatory.store.tasks.archive_clusters",
        "schedule": 60,
        "options": {"expires": 60},
    },
    "make-partitions": {"task": "observatory.store.tasks.make_partitions", "schedule": 6 * 3600},
    "find-runs": {"task": "observatory.runs.tasks.find_runs", "schedule": 15, "options": {"expires": 15}},
    "count-usage": {
        "task": "observatory.runs.tasks.count_usage",
        "schedule": 120,
        "options": {"expires": 120},
    },
    "look-at-runs": {
        "task": "observatory.why.tasks.look_at_runs",
        "schedule": 30,
        "options": {"expires": 30},
    },
    "send-runs": {
        "task": "observatory.exchange.tasks.send_runs",
        "schedule": 30,
        "options": {"expires": 30},
    },
    "enforce-retention": {"task": "observatory.runs.tasks.enforce_retention", "schedule": 3600},
}
