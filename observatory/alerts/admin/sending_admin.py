"""What the admin of channels and of receivers of runs share: tests, and how the last deliveries went."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from unfold.decorators import action

from observatory.alerts.admin.project_scope import ProjectScopedAdmin
from observatory.alerts.notifying.errors import SendError

SENT = "sent"
"""the state of a delivery, of channels and of receivers"""


class SendingAdmin(ProjectScopedAdmin):
    """For models with `deliveries`. Addresses can be entered, and are never shown."""

    actions_submit_line = ["send_a_test"]

    def send_test(self, item: Any) -> None:
        """Raises SendError."""
        raise NotImplementedError

    @admin.display(description="last sent")
    def last_sent(self, item: Any) -> Any:
        delivery = item.deliveries.filter(state=SENT).order_by("-sent").first()
        return delivery and delivery.sent

    @admin.display(description="last error")
    def problem(self, item: Any) -> str:
        """The error of the last delivery that was tried, unless it succeeded."""
        tried = Q(state=SENT) | ~Q(last_error="")
        last = item.deliveries.filter(tried).order_by("-due").first()
        return last.last_error if last else ""

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> Any:
        # unfold adds these buttons only to the change page
        buttons = {"actions_submit_line": cast(Any, self).get_actions_submit_line(request, None)}
        return super().add_view(request, form_url, {**(extra_context or {}), **buttons})

    def response_post_save_add(self, request: HttpRequest, obj: Any) -> HttpResponseRedirect:
        return self._after_a_test(request, obj) or super().response_post_save_add(request, obj)

    def response_post_save_change(self, request: HttpRequest, obj: Any) -> HttpResponseRedirect:
        return self._after_a_test(request, obj) or super().response_post_save_change(request, obj)

    def _after_a_test(self, request: HttpRequest, item: Any) -> HttpResponseRedirect | None:
        """Keeps the page open, because the address may have to be corrected."""
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        if f"{name}_send_a_test" not in request.POST:  # unfold's name of the button
            return None
        return HttpResponseRedirect(reverse(f"admin:{name}_change", args=[item.pk]))

    @action(description="Save and send a test", permissions=["change"])
    def send_a_test(self, request: HttpRequest, item: Any) -> None:
        try:
            self.send_test(item)
        except SendError as error:
            self.message_user(request, f"Sending the test failed. {error}", messages.ERROR)
        else:
            self.message_user(request, f"A test was sent to “{item}”.", messages.SUCCESS)
