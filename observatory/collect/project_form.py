"""Forms of what has a name in its project, also where the project is fixed."""

from __future__ import annotations

from django import forms


class UniqueInProject(forms.BaseForm):
    """For ModelForms: a name or address that the project has already is an error of the form."""

    def _get_validation_exclusions(self) -> set[str]:
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        return excluded if "project" in self.fields else excluded - {"project"}
