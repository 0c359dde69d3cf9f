"""Names that change in the files: what has them stays the same."""

from __future__ import annotations

from observatory.clusters.models import Project, Target
from tests.runtime.configuration.conftest import Write, apply, plan, refusal
from tests.runtime.configuration.installed import ETL, cluster_of, named, stored


def test_a_renamed_target_keeps_its_clusters(installation: None, write: Write) -> None:
    text = ETL.replace("ETL}", "ETL, targets: [{name: a, url: 'http://10.0.0.1:8787'}]}")
    apply(write(text))
    cluster = cluster_of(Project.objects.get(slug="etl"), Target.objects.get())
    said = apply(write(text.replace("name: a", "name: b")))
    assert "    name: a → b\n" in said
    cluster.refresh_from_db()
    assert cluster.target is not None
    assert cluster.target.name == "b"


def hosts() -> dict[str, tuple[int, int]]:
    """The last number of the address and the row, of each target."""
    return {each.name: (int(each.url[14:].partition(":")[0]), each.pk) for each in Target.objects.all()}


def test_targets_that_swap_names_keep_their_addresses_and_clusters(installation: None, write: Write) -> None:
    apply(write(named(("a", 1), ("b", 2), ("c", 3))))
    before = hosts()
    cluster = cluster_of(Project.objects.get(slug="etl"), Target.objects.get(name="a"))
    turned = write(named(("b", 1), ("c", 2), ("a", 3)))
    code, said = plan(turned)
    assert code == 2
    assert [line for line in said.splitlines() if "name:" in line] == [
        *("    name: a → b", "    name: b → c", "    name: c → a")
    ]
    assert hosts() == before
    apply(turned)
    assert hosts() == {"b": before["a"], "c": before["b"], "a": before["c"]}
    cluster.refresh_from_db()
    assert cluster.target is not None
    assert cluster.target.name == "b"
    assert plan(turned)[0] == 0


def test_a_name_goes_on_to_a_new_target_and_an_address_to_another_name(
    installation: None, write: Write
) -> None:
    apply(write(named(("a", 1), ("b", 2))))
    before = hosts()
    apply(write(named(("a", 9), ("old", 1), ("b", 2))))
    after = hosts()
    assert (after["old"], after["b"]) == (before["a"], before["b"])
    assert after["a"][0] == 9
    assert after["a"][1] not in {row for _, row in before.values()}
    said = apply(write(named(("a", 2), ("old", 1))))
    assert "1 to change, 1 to remove" in said
    assert hosts() == {"a": before["b"], "old": before["a"]}


def test_projects_swap_names(installation: None, write: Write) -> None:
    apply(write("projects: [{slug: etl, name: ETL}, {slug: ml, name: ML}]"))
    said = apply(write("projects: [{slug: etl, name: ML}, {slug: ml, name: ETL}]"))
    assert "    name: ETL → ML\n" in said
    assert dict(Project.objects.filter(is_own=False).values_list("slug", "name")).items() >= {
        *(("etl", "ML"), ("ml", "ETL"))
    }


def test_a_swap_is_refused_whole_when_anything_else_is_wrong(installation: None, write: Write) -> None:
    apply(write(named(("a", 1), ("b", 2))))
    before = stored()
    refusal(write(named(("b", 1), ("a", 2), ("c", 2))))
    refusal(write(named(("b", 1), ("a", 2)) + "rules: [{name: Memory}]\n"))
    assert stored() == before
