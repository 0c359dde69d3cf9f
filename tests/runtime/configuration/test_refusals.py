"""Files with anything wrong are refused whole, and each problem has its place and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from observatory.alerts.models import Channel, Rule
from observatory.clusters.models import Project, Provisioned, Target
from tests.runtime.configuration.conftest import Write, apply, refusal

PROJECT = "projects:\n  - slug: etl\n    name: ETL\n"
RULE = "rules:\n  - name: Memory\n    conditions:\n      - quantity: worker-memory\n"
CHANNEL = "channels:\n  - name: Hook\n    kind: webhook\n    address: "
ADDRESS = "A secret isn't written here. Refer to it: {env: OBSERVATORY_VAR_NAME}, or {file: NAME}"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("project: []", "all.yaml:1: project: The key isn't known. Did you mean “projects”?"),
        (
            PROJECT + "    retention: 3",
            "all.yaml:4: projects[0].retention: The key isn't known. Did you mean ",
        ),
        (PROJECT + "    name: Other", "all.yaml:4: projects[0].name: The key is there twice."),
        (PROJECT + PROJECT[10:], "all.yaml:4: projects[1]: The project etl is in all.yaml:2 already."),
        (
            PROJECT + "    retention_days: 0",
            "projects[0].retention_days: Ensure this value is greater than or ",
        ),
        (
            PROJECT + "    retention_days: soon",
            "all.yaml:4: projects[0].retention_days: Enter a whole number.",
        ),
        (PROJECT + "    retention_days: [1]", "projects[0].retention_days: Write a text or a number here."),
        (PROJECT + "    quota_gib: .nan", "all.yaml:4: projects[0].quota_gib: Enter a number."),
        (
            PROJECT + "    gib_hour_price: 1",
            "all.yaml:2: projects[0].currency: Enter the currency of the prices",
        ),
        ("projects: [{name: ETL}]", "all.yaml:1: projects[0]: A project needs a slug."),
        ("projects: [{slug: 'e t l', name: ETL}]", "all.yaml:1: projects[0].slug: Enter a valid “slug”"),
        ("projects: [{slug: etl}]", "all.yaml:1: projects[0].name: This field is required."),
        ("projects: {slug: etl}", "all.yaml:1: projects: Write a list here: each item begins with a dash."),
        ("projects: [etl]", "all.yaml:1: projects[0]: A project is an object, with keys and values."),
        ("- projects", "all.yaml:1: A file has to be an object with keys such as projects: and rules:."),
        (PROJECT + "    groups: {a: boss}", "projects[0].groups.a: Write one of: viewer, editor, owner."),
        (PROJECT + "    groups: [a]", "all.yaml:4: projects[0].groups: Write groups with their roles here"),
        (PROJECT + "    targets: [{name: a}]", "projects[0].targets[0].url: This field is required."),
        (
            PROJECT + "    targets: [{name: a, url: 'tcp://h:1'}]",
            "projects[0].targets[0].url: Only http:// and https:// are spoken",
        ),
        (
            PROJECT + "    targets: [{name: a, url: 'http://h:1', enabled: no}]",
            "all.yaml:4: projects[0].targets[0].enabled: Write true or false here.",
        ),
        (
            PROJECT + "    targets: [{name: a, url: 'http://h:1', workers: psychic}]",
            "projects[0].targets[0].workers: Write one of: direct, http, credentials, proxy.",
        ),
        (
            PROJECT + "    targets: [{name: a, url: 'http://h:1'}, {name: b, url: 'http://h:1/'}]",
            "projects[0].targets[1]: Target with this Project and Address already exists.",
        ),
        (
            PROJECT + "    targets: [{name: a, url: 'http://h:1', credentials: {passwort: {env: X}}}]",
            "credentials.passwort: The key isn't known. Did you mean “password”?",
        ),
        (
            PROJECT + "    targets: [{name: a, url: 'http://h:1', credentials: {token: S3CR3T}}]",
            f"credentials.token: {ADDRESS}",
        ),
        (
            PROJECT + "    discoveries: [{name: a, kind: consul}]",
            "projects[0].discoveries[0].kind: Write one of: ",
        ),
        (
            RULE + "        threshold: 80 %%",
            "conditions[0].threshold: “80 %%” isn't an amount: enter a number",
        ),
        (
            RULE + "        treshold: 1",
            "conditions[0].treshold: The key isn't known. Did you mean “threshold”?",
        ),
        (RULE.replace("memory", "memry"), "all.yaml:4: rules[0].conditions[0].quantity: There is no such "),
        (RULE + "    projects: [elt]", "all.yaml:5: rules[0].projects[0]: There is no project elt."),
        (
            PROJECT + RULE + "    projects: [elt]",
            "rules[0].projects[0]: There is no project elt. Did you mean “etl”?",
        ),
        (
            RULE + "    targets: [a/b]",
            "all.yaml:5: rules[0].targets[0]: There is no target a/b. There is none.",
        ),
        (RULE + "    for: 2 fortnights", "all.yaml:5: rules[0].for: “2 fortnights” isn't an amount"),
        (RULE + "    severity: bad", "rules[0].severity: Write one of: info, warning, critical."),
        (RULE + "    message: '{wrker}'", "all.yaml:5: rules[0].message: {wrker} isn't a placeholder."),
        ("rules: [{name: Empty}]", "all.yaml:1: rules[0]: A rule needs a condition."),
        (
            "rules: [{ready_made: worker-memry}]",
            "rules[0].ready_made: There is no such rule. Did you mean “worker-memory”?",
        ),
        (
            "rules: [{ready_made: worker-memory}, {name: Worker memory}]",
            "all.yaml:1: rules[1]: The rule Worker memory is in all.yaml:1 already.",
        ),
        (
            RULE.replace("quantity: worker-memory", "kind: bad"),
            "conditions[0].kind: Write one of: metric, event, run.",
        ),
        (
            "rules: [{name: a, conditions: [{kind: event, event: nothing}]}]",
            "all.yaml:1: rules[0].conditions[0].event: Write one of: ",
        ),
        (
            "deleted_ready_made_rules: [idle-clustr]",
            "deleted_ready_made_rules[0]: There is no such rule. Did you mean “idle-cluster”?",
        ),
        (
            "rules: [{ready_made: idle-cluster}]\ndeleted_ready_made_rules: [idle-cluster]",
            "all.yaml:2: deleted_ready_made_rules[0]: The rule Idle cluster is in the files as well.",
        ),
        (CHANNEL + "https://h/T0K3N", f"all.yaml:4: channels[0].address: {ADDRESS}"),
        (
            CHANNEL + "{env: OBSERVATORY_SECRET_KEY}",
            "address.env: The variable's name has to be OBSERVATORY_VAR_",
        ),
        (CHANNEL + "{env: OBSERVATORY_VAR_NONE}", "The environment variable OBSERVATORY_VAR_NONE isn't set."),
        (CHANNEL + "{env: OBSERVATORY_VAR_BAD}", "channels[0].address: The address has no host."),
        (CHANNEL + "{file: ../../etc/passwd}", "The file has to be in the folder of --secrets."),
        (CHANNEL + "{file: /etc/passwd}", "The file has to be in the folder of --secrets."),
        (CHANNEL + "{file: none}", "There is no file none in the folder of --secrets."),
        ("channels: [{name: Hook, kind: webhook}]", "channels[0].address: A channel needs an address."),
        (
            "silences: [{comment: a, matchers: 'a=\"b\"'}]",
            "all.yaml:1: silences[0]: A silence needs a starts.",
        ),
        (
            "silences: [{comment: a, matchers: b, starts: 2026-01-01, expires: 2099-01-01}]",
            'silences[0].matchers: Write labels as name="value"',
        ),
        (
            "silences: [{comment: a, matchers: 'a=\"b\"', starts: 2026-01-01, expires: soon}]",
            "all.yaml:1: silences[0].expires: Enter a valid date/time.",
        ),
        (
            "maintenance_windows: [{name: a, starts: 2026-01-02, stops: 2026-01-01}]",
            "maintenance_windows[0].stops: The maintenance has to stop after its start.",
        ),
        ("a: &x [1]\nb: *x", "all.yaml:2: The YAML has an alias (*). Write out its content."),
        ("a: !!python/object/apply:os.system [id]", "all.yaml:1: The YAML has the type"),
        ("a: " + "[" * 40 + "]" * 40, "all.yaml:1: The YAML is nested too deeply, or is too large."),
        ("a: b: c", "all.yaml:1: This is no YAML: mapping values are not allowed in this context."),
        ("a: 1\n---\nb: 1", "all.yaml:2: This is no YAML: but found another document."),
        ("{[a]: 1}", "all.yaml:1: A key has to be a text."),
        ("\x00", "all.yaml:1: This is no YAML: "),
        ('"\\e[2J": 1', "all.yaml:1: \\x1b[2J: The key isn't known."),
    ],
)
def test_a_problem_is_named_with_its_place(
    installation: None, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, line: str
) -> None:
    monkeypatch.setenv("OBSERVATORY_VAR_BAD", "https:///S3CR3T")
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    found = refusal(write(text), "--secrets", str(secrets))
    assert any(line in each for each in found), found
    assert len(found) == 1, "a problem is told once, and nothing that follows from it"
    assert "S3CR3T" not in found[0]
    assert "T0K3N" not in found[0]
    assert not Project.objects.filter(is_own=False).exists()
    assert not Provisioned.objects.exists()


def test_a_large_file_is_not_read(installation: None, write: Write) -> None:
    assert refusal(write("a: " + "x" * 2**20)) == ["all.yaml:1: The file is larger than 1 MiB."]
    assert refusal(write("a: [" + "[]," * 60_000 + "]")) == [
        "all.yaml:1: The YAML is nested too deeply, or is too large."
    ]


def test_one_wrong_item_keeps_all_others_out_and_all_problems_are_told(
    installation: None, write: Write
) -> None:
    good = PROJECT + "    targets: [{name: a, url: 'http://h:1'}]\n" + RULE
    bad = "projects: [{slug: ml, name: ML, retention_days: -1, targets: [{name: b}]}]"
    depends = "rules: [{name: Of ml, projects: [ml], conditions: [{quantity: worker-lost}]}]"
    wrong = "rules: [{name: Other, severity: 3, conditions: [{quantity: worker-lost}]}]"
    before = set(Rule.objects.values_list("name", flat=True))
    found = refusal(write(good=good, bad=bad, depends=depends, wrong=wrong))
    assert [line.split(":")[0] for line in found] == ["bad.yaml", "wrong.yaml"]
    assert set(Rule.objects.values_list("name", flat=True)) == before
    assert not Target.objects.exists()


def test_what_has_two_names_by_hand_is_not_guessed(installation: None, write: Write) -> None:
    for _ in range(2):
        Channel.objects.create(name="Hook", kind="webhook", secret="x")
    [line] = refusal(write(CHANNEL + "{env: OBSERVATORY_VAR_ETL_WEBHOOK}"))
    assert "There are 2 of this name, made by hand. Rename or delete all but one." in line


def test_observatorys_own_project_is_not_of_files(installation: None, write: Write) -> None:
    Project.objects.create(name="Observatory", slug="observatory", is_own=True)
    [line] = refusal(write("projects: [{slug: observatory, name: Mine}]"))
    assert "This is the project of Observatory itself. Choose another slug." in line


def test_texts_stay_what_people_wrote_whatever_yaml_makes_of_them(installation: None, write: Write) -> None:
    apply(write("projects: [{slug: 1_000, name: no, groups: {yes: viewer, 1:30: editor, 0x10: owner}}]"))
    project = Project.objects.get(is_own=False)
    assert (project.slug, project.name) == ("1_000", "no")
    assert set(project.group_roles.values_list("group", flat=True)) == {"yes", "1:30", "0x10"}
