"""The Celery application of beat, which sends tasks by name: it needs neither their code nor the models."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
# without Celery's fixup for Django, which would load all models
app = Celery("observatory", fixups=())
app.config_from_object("observatory.config.settings", namespace="CELERY")
app.conf.imports = ("observatory.runtime.tasks",)
