"""The Celery application. Tasks are in each room's tasks.py."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
app = Celery("observatory")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["observatory.alerts.notifying"])
