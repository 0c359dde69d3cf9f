"""Converts the templates of annotations, `{{ $value | humanize }}`, to our placeholders and back.

What can't be converted is left out and noted: nobody gets braces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from observatory.alerts.prometheus.labels import OF_WORKERS, WORKER
from observatory.alerts.rules.conditions import By
from observatory.alerts.rules.number_formats import FORMATS, is_format
from observatory.alerts.rules.placeholders import BRACES, LABEL, VALUE_FORMAT, is_placeholder, split

ACTION = re.compile(r"\{\{(-\s)?(.*?)(\s-)?\}\}", re.DOTALL)
"""`{{ … }}`, and whether it trims the text before and after it"""
BLOCKS = ("if", "with", "range", "define", "block")
"""actions that end with `{{ end }}`"""
MAX_BRACKETS = 20
COMMENT = re.compile(r"/\*.*\*/", re.DOTALL)
TOKEN = re.compile(r"""\s*("(?:\\.|[^"\\])*"|`[^`]*`|[|()]|[^\s|()"`]+)""")
VERB = re.compile(r"%%|%[-+]?\d*(?:\.\d+)?[a-zA-Z]")
VALUE, LABELS = ("$value", ".Value"), ("$labels", ".Labels")
NAMED_LABEL = re.compile(r"(?:\$labels|\.Labels)\.(\w+)")
TEXT_FUNCTIONS = (
    "toUpper",
    "toLower",
    "title",
    "stripPort",
    "stripDomain",
    "reReplaceAll",
    "safeHtml",
    "urlQueryEscape",
)
OF_CLUSTER = frozenset({"cluster", "job", "service"})
"""labels that name the cluster in texts"""
OF_ALERTS = frozenset({"project", "alertname", "severity"})
"""labels that all our alerts have"""
OPENED = re.compile(r"\{\{+|\{$")
"""braces that Prometheus would read as the beginning of a template"""
UNIT = re.compile(r" ?(?:%|[kKMGT]i?B\b|B\b|bytes\b|seconds\b|secs?\b|s\b)")
"""a unit that is written after a value"""
VALUES = {
    "bytes": "{{ $value | humanize1024 }}B",
    "bytes/s": "{{ $value | humanize1024 }}B/s",
    "seconds": "{{ $value | humanizeDuration }}",
    "ratio": "{{ $value | humanizePercentage }}",
    "percent": '{{ $value | printf "%.3g" }}%',
}
"""by unit, the template that is written for {value}"""


class _Unknown(Exception):
    """A part of a template without a counterpart."""


@dataclass(slots=True)
class TemplateReader:
    """Reads the templates of one rule; `notes` are the changes."""

    by: By
    """the subjects of its alerts"""
    unit: str
    """of its value, as `unit_of` returns it"""
    is_scaled: bool = False
    """the expression multiplies the value, and the rule doesn't"""
    notes: list[str] = field(default_factory=list)

    def read(self, text: str, is_message: bool = False) -> str:
        """A message has no braces except those of placeholders."""
        if self.unit in VALUES:
            text = text.replace(VALUES[self.unit], "{{ $value }}")
        parts: list[str] = []
        place = depth = 0
        for match in ACTION.finditer(text):
            if match.start() < place:
                continue
            if not depth:
                literal = self._literal(text[place : match.start()], is_message)
                parts.append(literal.rstrip() if match[1] else literal)
            place = match.end()
            word = match[2].split(maxsplit=1)[0] if match[2].strip() else ""
            if word in BLOCKS:
                depth += 1
                if depth == 1:
                    self._leave_out(match[2], " up to its {{ end }}")
            elif depth:
                depth -= word == "end"
            else:
                parts.append(self._action(match[2]))
                if parts[-1] == "{value}" and (self.unit or self.is_scaled):
                    place = self._after_unit(text, place)
            if match[3]:
                place = len(text) - len(text[place:].lstrip())
        return "".join((*parts, "" if depth else self._literal(text[place:], is_message)))

    def _literal(self, text: str, is_message: bool) -> str:
        """Text outside of templates. Braces that would be read as a placeholder become parentheses."""
        text, opened, rest = text.partition("{{")
        if opened:
            self._leave_out(rest, ", because it has no end")

        def in_parentheses(match: re.Match[str]) -> str:
            if not is_message and not is_placeholder(match[1]):
                return match[0]
            self.notes.append("braces in its texts became parentheses")
            return f"({match[1]})"

        return BRACES.sub(in_parentheses, text)

    def _after_unit(self, text: str, place: int) -> int:
        """Our values are written with their unit."""
        unit = UNIT.match(text, place)
        if unit is None:
            return place
        self.notes.append(f"“{unit[0].strip()}” after {{{{ $value }}}} is left out: {{value}} has its unit")
        return unit.end()

    def _action(self, action: str) -> str:
        if COMMENT.fullmatch(action.strip()):
            return ""
        tokens = TOKEN.findall(action)
        try:
            if tokens.count("(") > MAX_BRACKETS:
                raise _Unknown
            filled, rest = self._pipeline(tokens)
            if rest:
                raise _Unknown
        except (_Unknown, IndexError):
            self._leave_out(action)
            return ""
        return filled

    def _leave_out(self, action: str, why: str = "") -> None:
        self.notes.append(f"{{{{ {' '.join(action.split())[:80]} }}}} is left out of the texts{why}")

    def _pipeline(self, tokens: list[str]) -> tuple[str, list[str]]:
        """The text for the tokens up to the end or a closing bracket, and the tokens after it."""
        piped: str | None = None
        while True:
            stage: list[str] = []
            while tokens and tokens[0] not in ("|", ")"):
                if tokens[0] == "(":
                    inner, tokens = self._pipeline(tokens[1:])
                    stage.append(_quoted(inner))
                else:
                    stage.append(tokens[0])
                    tokens = tokens[1:]
            piped = self._stage(stage, piped)
            if not tokens or tokens[0] == ")":
                return piped, tokens[1:]
            tokens = tokens[1:]

    def _stage(self, tokens: list[str], piped: str | None) -> str:
        function, arguments = tokens[0], tokens[1:]
        if function == "index" and arguments[0] in LABELS:
            return self._label(_text(arguments[1]))
        operands = [self._operand(each) for each in arguments] + ([] if piped is None else [piped])
        if function in FORMATS and operands == ["{value}"]:
            return self._formatted(function)
        if function in TEXT_FUNCTIONS:
            self.notes.append(f"{function} is left out of the texts")
            return operands[-1]
        if function == "printf":
            return self._printf(operands[0], operands[1:])
        if function in ("print", "html", "urlquery") and operands:
            return "".join(operands)
        if operands:
            raise _Unknown
        return self._operand(function)

    def _operand(self, token: str) -> str:
        if token in VALUE:
            return "{value}"
        if token in LABELS:
            return "{labels}"
        if label := NAMED_LABEL.fullmatch(token):
            return self._label(label[1])
        return _text(token)

    def _formatted(self, name: str) -> str:
        if self.is_scaled:
            self.notes.append(f"{name} is left out of the texts: {{value}} has its unit")
            return "{value}"
        return f"{{{VALUE_FORMAT}{name}}}"

    def _printf(self, template: str, operands: list[str]) -> str:
        left = iter(operands)

        def filled(verb: re.Match[str]) -> str:
            if verb[0] == "%%":
                return "%"
            operand = next(left, None)
            if operand is None:
                raise _Unknown
            if operand != "{value}" or verb[0].endswith("s"):
                return operand
            if not is_format(verb[0]):
                raise _Unknown
            return self._formatted(verb[0])

        return VERB.sub(filled, template)

    def _label(self, name: str) -> str:
        if name in OF_WORKERS and self.by is not By.CLUSTER:
            return "{worker}"
        if name in OF_CLUSTER | OF_WORKERS:
            if name != "cluster":
                self.notes.append(f"{{{{ $labels.{name} }}}} became {{cluster}}, the cluster's name")
            return "{cluster}"
        if name in OF_ALERTS or (self.by is By.SERIES and name not in OF_WORKERS):
            return f"{{{LABEL}{name}}}"
        self._leave_out(f"$labels.{name}", f": alerts for {self.by.label} don't have the label {name}")
        return ""


def write_template(text: str, unit: str, threshold: str) -> str:
    """Our placeholders as Prometheus' templates; {text}, the message of an event, is left out."""

    def template_of(name: str) -> str:
        if name.startswith(VALUE_FORMAT):
            function = name.removeprefix(VALUE_FORMAT)
            written = f'printf "{function}"'
            return f"{{{{ $value | {function if function in FORMATS else written} }}}}"
        if name.startswith(LABEL):
            return f"{{{{ $labels.{name.removeprefix(LABEL)} }}}}"
        return {
            "value": VALUES.get(unit, "{{ $value }}"),
            "worker": f"{{{{ $labels.{WORKER} }}}}",
            "cluster": "{{ $labels.cluster }}",
            "labels": "{{ $labels }}",
            "threshold": threshold,
        }.get(name, "")

    return "".join(
        template_of(part) if is_name else OPENED.sub(lambda braces: f'{{{{ "{braces[0]}" }}}}', part)
        for part, is_name in split(text)
    )


def _text(token: str) -> str:
    """The content of a string; raises _Unknown for anything else."""
    if token[:1] == "`":
        return token[1:-1]
    if token[:1] != '"':
        raise _Unknown
    return re.sub(r"\\(.)", lambda escape: {"n": "\n", "t": "\t"}.get(escape[1], escape[1]), token[1:-1])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
