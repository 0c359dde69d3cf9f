"""Templates of annotations as placeholders, and placeholders as templates."""

from __future__ import annotations

import pytest

from observatory.alerts.prometheus.templates import TemplateReader, write_template
from observatory.alerts.rules.conditions import By


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ $value }} on {{ $labels.instance }}", "{value} on {worker}"),
        ("{{.Value}} of {{.Labels.pod}}", "{value} of {worker}"),
        ('{{ $labels.worker }} {{ index $labels "worker" }}', "{worker} {worker}"),
        ("{{ $value | humanize }}", "{value:humanize}"),
        ("{{ humanize1024 $value }}B", "{value:humanize1024}B"),
        ("{{ $value | humanizePercentage }}", "{value:humanizePercentage}"),
        ("{{ $value | humanizeDuration }}", "{value:humanizeDuration}"),
        ('{{ $value | printf "%.2f" }} s', "{value:%.2f} s"),
        ('{{ printf "%.1f%%" $value }}', "{value:%.1f}%"),
        ('{{ printf "%s has %d" $labels.instance $value }}', "{worker} has {value:%d}"),
        ('{{ $value | humanize | printf "%s items" }}', "{value:humanize} items"),
        ("{{ ($value | humanize) }}", "{value:humanize}"),
        ("{{ $labels }}", "{labels}"),
        ("{{ $labels.cluster }}", "{cluster}"),
        ('{{ "{{" }} and {{ `text` }}', "{{ and text"),
        ("a {{- $value -}} b", "a{value}b"),
        ("a{{/* nothing */}}b", "ab"),
        ('{type="managed"}', '{type="managed"}'),
    ],
)
def test_templates_become_placeholders(template: str, text: str) -> None:
    reader = TemplateReader(By.WORKER, "")
    assert (reader.read(template), reader.notes) == (text, [])


@pytest.mark.parametrize(
    ("template", "text", "note"),
    [
        ("in {{ $labels.job }}", "in {cluster}", "{{ $labels.job }} became {cluster}, the cluster's name"),
        (
            "in {{ $labels.state }}!",
            "in !",
            "{{ $labels.state }} is left out of the texts: alerts for each worker don't have the label state",
        ),
        ("{{ $labels.instance | toUpper }}", "{worker}", "toUpper is left out of the texts"),
        ("see {{ $externalURL }}", "see ", "{{ $externalURL }} is left out of the texts"),
        (
            "x {{ if gt $value 9.0 }}bad{{ else if true }}good{{ end }}{{ if x }}{{ end }} y",
            "x  y",
            "{{ if gt $value 9.0 }} is left out of the texts up to its {{ end }}",
        ),
        (
            '{{ with query "up" }}{{ . | first | value }}{{ end }}.',
            ".",
            '{{ with query "up" }} is left out of the texts up to its {{ end }}',
        ),
        ("a {{ $value", "a ", "{{ $value }} is left out of the texts, because it has no end"),
        ('{{ printf "%x" $value }}', "", '{{ printf "%x" $value }} is left out of the texts'),
        ("is {value}", "is (value)", "braces in its texts became parentheses"),
        ("{{ " + "(" * 2000 + " }}", "", "{{ " + "(" * 80 + " }} is left out of the texts"),
    ],
)
def test_what_cannot_be_filled_is_left_out_and_noted(template: str, text: str, note: str) -> None:
    reader = TemplateReader(By.WORKER, "")
    assert reader.read(template) == text
    assert note in reader.notes


def test_a_label_of_series_is_filled_with_its_value() -> None:
    assert TemplateReader(By.SERIES, "").read("{{ $labels.state }}") == "{labels.state}"


def test_a_unit_after_a_value_that_has_one_is_left_out_and_noted() -> None:
    reader = TemplateReader(By.WORKER, "bytes")
    assert (
        reader.read("{{ $value }} bytes, {{ $value | humanize }} bytes") == "{value}, {value:humanize} bytes"
    )
    assert reader.notes == ["“bytes” after {{ $value }} is left out: {value} has its unit"]
    scaled = TemplateReader(By.CLUSTER, "ratio", is_scaled=True)
    assert scaled.read('{{ $value | printf "%.1f" }}% full') == "{value} full"
    assert len(scaled.notes) == 2


def test_a_message_has_no_braces_but_those_of_placeholders() -> None:
    reader = TemplateReader(By.WORKER, "")
    assert reader.read('a{b="c"} is {{ $value }}', is_message=True) == 'a(b="c") is {value}'
    assert reader.notes == ["braces in its texts became parentheses"]


@pytest.mark.parametrize(
    ("unit", "template"),
    [
        ("bytes", "{{ $value | humanize1024 }}B"),
        ("bytes/s", "{{ $value | humanize1024 }}B/s"),
        ("seconds", "{{ $value | humanizeDuration }}"),
        ("ratio", "{{ $value | humanizePercentage }}"),
        ("percent", '{{ $value | printf "%.3g" }}%'),
        ("", "{{ $value }}"),
    ],
)
def test_a_value_is_written_in_its_unit_and_read_again(unit: str, template: str) -> None:
    assert write_template("{value}", unit, "") == template
    assert TemplateReader(By.WORKER, unit).read(template) == "{value}"


def test_placeholders_are_written_as_templates() -> None:
    text = (
        "{worker} {cluster} {labels} {labels.state} {value:%.2f} {value:humanize} {threshold} {text}{odd} {{"
    )
    assert write_template(text, "", "5") == (
        "{{ $labels.instance }} {{ $labels.cluster }} {{ $labels }} {{ $labels.state }} "
        '{{ $value | printf "%.2f" }} {{ $value | humanize }} 5 {odd} {{ "{{" }}'
    )
