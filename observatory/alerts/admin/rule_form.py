"""The forms of a rule and its conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextareaWidget

from observatory.alerts.admin.fields import MAX_LENGTH, DurationField, amount_of
from observatory.alerts.admin.quantity_choice import (
    LIMITS,
    MEASURED,
    chosen_quantity,
    quantity_choices,
    quantity_fields,
)
from observatory.alerts.models import Condition, Rule
from observatory.alerts.rules.amounts import format_amount
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    Function,
    Measure,
    MetricCondition,
    Operation,
    RunCondition,
    Selector,
)
from observatory.alerts.rules.events import DERIVED_EVENTS, RECORDED_EVENTS
from observatory.alerts.rules.quantities import QUANTITIES
from observatory.alerts.rules.units import unit_of
from observatory.alerts.rules.validation import ATTRIBUTE_MISSING, MAX_CONDITIONS, problems
from observatory.alerts.web.access import projects_of_metrics, require_room_for_a_rule, rules_to_name

if TYPE_CHECKING:
    ConditionFormBase = forms.ModelForm[Condition]
    RuleFormBase = forms.ModelForm[Rule]
    ConditionFormSetBase = forms.BaseInlineFormSet[Condition, Rule, "ConditionForm"]
else:
    ConditionFormBase = RuleFormBase = forms.ModelForm
    ConditionFormSetBase = forms.BaseInlineFormSet

PREFIX = "conditions"
EVENTS = [
    ("", "…"),
    *((event.name, event.label) for event in DERIVED_EVENTS),
    ("Events of the timeline", [(event.name, event.label) for event in RECORDED_EVENTS]),
]
EVENT_ATTRIBUTES = {
    "data-lasting": " ".join(event.name for event in DERIVED_EVENTS if event.is_lasting),
    "data-of-cluster": " ".join(event.name for event in DERIVED_EVENTS if event.is_of_cluster),
}
"""read by frontend/pages/rule/condition.js"""
LEVELS = [(0, "any level"), (20, "INFO"), (30, "WARNING"), (40, "ERROR"), (50, "CRITICAL")]
TYPED = ("metric", "labels", "other_metric", "other_labels", "pattern", "quantile", "count", "run_name")
CHOSEN = ("kind", "by", "aggregate", "operation", "other", "other_attribute", "comparison")
FIELD_NAMES = {
    "kind": "kind of condition",
    "labels": "labels",
    "window_seconds": "window",
    "by": "one alert for",
    "operation": "divided by or minus",
    "other_metric": "other metric",
    "other_labels": "labels of that metric",
    "other_attribute": "the worker's attribute",
    "comparison": "comparison",
    "clear_threshold": "threshold to clear at",
    "count": "how many times",
    "measure": "what of a run",
    "run_name": "names of runs",
    "earlier_runs": "number of earlier runs",
    "fewest_runs": "fewest earlier runs",
}
"""accessible names of fields, whose visible context is the sentence around them"""


def value_unit(condition: Condition) -> str:
    """The unit of a condition's thresholds, even if other parts of the condition are invalid."""
    if condition.kind == Condition.Kind.RUN:
        return unit_of(RunCondition(Measure(condition.measure)))
    other: Selector | Attribute | None = None
    if condition.other == Condition.Other.METRIC:
        other = Selector(condition.other_metric, function=Function(condition.function))
    elif condition.other and condition.other_attribute:
        other = Attribute(condition.other_attribute)
    selector = Selector(condition.metric, function=Function(condition.function))
    return unit_of(
        MetricCondition(
            selector,
            By.WORKER,
            Aggregate.SUM,
            Comparison.ABOVE,
            0.0,
            other=other,
            operation=Operation(condition.operation),
        )
    )


FUNCTIONS = [("value", "value"), ("rate", "rate per second"), ("change", "change")]
"""shorter than the model's labels, because the window follows in the sentence"""


class ConditionForm(ConditionFormBase):
    """A condition as a sentence. The meaning of a threshold depends on the metric: 80 % is 0.8 of a ratio."""

    quantity = forms.ChoiceField(required=False, choices=quantity_choices)
    window_seconds = DurationField(required=False, initial=60.0)
    threshold = forms.CharField(required=False, max_length=MAX_LENGTH)
    clear_threshold = forms.CharField(required=False, max_length=MAX_LENGTH)
    function = forms.ChoiceField(choices=FUNCTIONS, initial="value")
    event = forms.ChoiceField(required=False, choices=EVENTS)
    level = forms.TypedChoiceField(coerce=int, choices=LEVELS, initial=0)
    measure = forms.ChoiceField(required=False, choices=Measure.choices, initial=Measure.DURATION)
    earlier_runs = forms.IntegerField(required=False, initial=10, widget=forms.TextInput)
    fewest_runs = forms.IntegerField(required=False, initial=3, widget=forms.TextInput)

    class Meta:
        model = Condition
        fields = (*MEASURED, *LIMITS)
        widgets = dict.fromkeys(TYPED, forms.TextInput) | dict.fromkeys(CHOSEN, forms.Select)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        written = self.instance.pk is not None
        self.initial["quantity"] = chosen_quantity(self.instance) if written else ""
        self.suggested_hold = 0.0
        """seconds; of the quantity that the server filled in"""
        for name in ("threshold", "clear_threshold"):
            value = getattr(self.instance, name)
            shown = written and value is not None
            self.initial[name] = format_amount(value, value_unit(self.instance)) if shown else ""
        for name, field in self.fields.items():
            field.widget.attrs = {
                "class": f"rule-input rule-{name.replace('_', '-')}",
                "aria-label": FIELD_NAMES.get(name, str(field.label or name).lower()),
                "autocomplete": "off",
                "spellcheck": "false",
            }
        self.fields["event"].widget.attrs |= EVENT_ATTRIBUTES
        key = self.data.get(self.add_prefix("quantity"), "") if self.is_bound else ""
        if key in QUANTITIES and key != self.initial["quantity"] and not self._changed(MEASURED):
            self._fill_in(key)

    def _changed(self, names: Iterable[str]) -> set[str]:
        return {name for name in names if self[name]._has_changed()}  # type: ignore[attr-defined]

    def _fill_in(self, key: str) -> None:
        """Fills in the fields of a quantity that was chosen without scripts. Entered limits stay."""
        entered = self._changed(LIMITS)
        if "threshold" in entered:
            entered.add("clear_threshold")
        fields = quantity_fields()[key]
        texts = {**fields["measured"], **fields["limits"]}
        filled = {self.add_prefix(name): text for name, text in texts.items() if name not in entered}
        self.data = dict(self.data.items()) | filled
        self.suggested_hold = QUANTITIES[key].hold

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        cleaned["window_seconds"] = cleaned.get("window_seconds") or 60.0
        texts = {name: cleaned.pop(name, "") for name in ("threshold", "clear_threshold")}
        cleaned["threshold"], cleaned["clear_threshold"] = 0.0, None
        match cleaned.get("kind"):
            case Condition.Kind.METRIC:
                self._read_thresholds(texts)
            case Condition.Kind.RUN if cleaned.get("measure") != Measure.NEW_ERRORS:
                self._read_share(texts["threshold"])
        return cleaned

    def _read_share(self, text: str) -> None:
        try:
            self.cleaned_data["threshold"] = amount_of(text, "ratio")
        except ValidationError as error:
            self.add_error("threshold", error)

    def _read_thresholds(self, texts: Mapping[str, str]) -> None:
        cleaned = self.cleaned_data
        names = ("metric", "function", "operation", "other", "other_metric", "other_attribute")
        unit = value_unit(Condition(**{name: cleaned[name] for name in names if name in cleaned}))
        if cleaned.get("comparison") == Comparison.ABSENT:
            return
        if not texts["threshold"]:
            self.add_error("threshold", "Enter a threshold.")
        if cleaned.get("other") == Condition.Other.ATTRIBUTE and not cleaned.get("other_attribute"):
            self.add_error("other_attribute", ATTRIBUTE_MISSING)
            return  # the unit of the thresholds isn't known
        for name, text in texts.items():
            try:
                if text:
                    cleaned[name] = amount_of(text, unit)
            except ValidationError as error:
                self.add_error(name, error)


class ConditionFormSet(ConditionFormSetBase):
    """A rule's conditions, in the order of the form."""

    quantity_fields = staticmethod(quantity_fields)
    """read by frontend/pages/rule/quantity.js"""
    user: User

    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        return {**super().get_form_kwargs(index), "use_required_attribute": False}

    def clean(self) -> None:
        super().clean()
        kept = [form for form in self.forms if form not in self.deleted_forms and is_filled_in(form)]
        for position, form in enumerate(kept):
            form.instance.position = position
        add_problems(self.instance, kept, self.user)


def is_filled_in(form: ConditionForm) -> bool:
    return form.instance.pk is not None or form.has_changed()


def add_problems(rule: Rule, written: list[ConditionForm], user: User) -> list[tuple[str, str]]:
    """Adds the problems of conditions to their forms. Returns those of the rule as (field, message)."""
    if any(form.errors for form in written):
        return []
    of_rule = []
    conditions = [form.instance for form in written]
    for problem in problems(rule, conditions, projects_of_metrics(user)):
        if problem.condition_index is None:
            of_rule.append((problem.field, problem.message))
        else:
            form = written[problem.condition_index]
            form.add_error(problem.field if problem.field in form.fields else None, problem.message)
    return of_rule


class EvaluationForm(RuleFormBase):
    """The fields that affect evaluation, as they are on the page. Back-tests use it for unsaved rules."""

    user: User
    hold_seconds = DurationField(
        label="for",
        required=False,
        initial=0.0,
        widget=forms.TextInput({"class": "rule-input", "aria-label": "for how long"}),
    )

    class Meta:
        model = Rule
        fields = ("hold_seconds", "no_data", "projects", "targets", "cluster_names")
        widgets = {"no_data": forms.Select({"class": "rule-input", "aria-label": "without data"})}

    @cached_property
    def submitted(self) -> list[ConditionForm]:
        return submitted_conditions(self.data)

    def clean_hold_seconds(self) -> float:
        suggested = max((form.suggested_hold for form in self.submitted), default=0.0)
        return self.cleaned_data["hold_seconds"] or suggested

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        for field, message in add_problems(self.instance, self.submitted, self.user):
            self.add_error(field if field in self.fields else None, message)


class RuleForm(EvaluationForm):
    """All fields of a rule."""

    class Meta(EvaluationForm.Meta):
        widgets = EvaluationForm.Meta.widgets | {
            name: UnfoldAdminTextareaWidget({"rows": 3})
            for name in ("cluster_names", "description", "advice")
        }
        fields = (  # type: ignore[assignment]
            "name",
            "enabled",
            "severity",
            *EvaluationForm.Meta.fields,
            "description",
            "advice",
            "message",
        )

    def clean(self) -> dict[str, Any]:
        if self.instance.pk is None:
            require_room_for_a_rule(self.user)
        return super().clean() or self.cleaned_data

    def clean_name(self) -> str:
        """Projects that have nothing in common may have rules of one name."""
        name: str = self.cleaned_data["name"]
        if "name" in self.changed_data and rules_to_name(self.user).filter(name=name).exists():
            raise ValidationError("A rule with this name exists.")
        return name


def submitted_conditions(data: Mapping[str, Any]) -> list[ConditionForm]:
    """The conditions on the page, saved or not, without those marked for deletion."""
    total = data.get(f"{PREFIX}-TOTAL_FORMS", "")
    count = min(int(total), MAX_CONDITIONS * 2) if str(total).isascii() and str(total).isdigit() else 0
    prefixes = [f"{PREFIX}-{number}" for number in range(count)]
    forms = [
        ConditionForm(data, prefix=prefix, empty_permitted=True, use_required_attribute=False)
        for prefix in prefixes
        if not data.get(f"{prefix}-DELETE")
    ]
    return [form for form in forms if form.has_changed()]
