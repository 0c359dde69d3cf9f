"""Forms of what has a name in its project, also where the project is fixed."""

from __future__ import annotations

from typing import Any

from django import forms

from observatory.clusters.limits.room import require_room


class UniqueInProject(forms.BaseForm):
    """For ModelForms: a name or address that the project has already is an error of the form."""

    instance: Any
    cleaned_data: dict[str, Any]

    def require_room(self, most: int, what: str) -> None:
        """Raises ValidationError if the project has so many already."""
        project = self.cleaned_data.get("project") or getattr(self.instance, "project", None)
        if project is not None and self.instance.pk is None:
            require_room(type(self.instance).objects.filter(project=project), most, "The project", what)

    def _get_validation_exclusions(self) -> set[str]:
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        return excluded if "project" in self.fields else excluded - {"project"}
