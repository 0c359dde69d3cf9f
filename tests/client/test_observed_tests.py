"""`pytest --observe-to FOLDER`: tests that are runs in bundles, without a server."""

from __future__ import annotations

from pathlib import Path

from observatory.exchange.bundles.bundle import Bundle
from tests.agent.test_pytest_plugin import CLUSTER, run

TESTS = f"""{CLUSTER}
@pytest.mark.observe
def test_etl(client):
    assert client.submit(abs, -1).result() == 1

@pytest.mark.observe("nightly <etl>")
@pytest.mark.parametrize("path", ["../../etc", "../../etc ", "x" * 300])
def test_with(client, path):
    assert len(client.submit(str, path).result()) == 300

@pytest.mark.observe
def test_closes_its_cluster(client):
    client.cluster.close()

def test_without_the_mark(client):
    pass
"""


def test_each_marked_test_has_a_bundle_of_its_own(tmp_path: Path) -> None:
    done = run(tmp_path, TESTS, "--observe-to=made/bundles", "--observe-list=runs.txt")
    assert "2 failed, 4 passed" in done.stdout, done.stdout
    listed = (tmp_path / "runs.txt").read_text().splitlines()
    files = [Path(path) for path in listed]
    assert len(set(files)) == 5
    assert {path.parent.resolve() for path in files} == {tmp_path / "made/bundles"}
    bundles = sorted(path.name for path in (tmp_path / "made/bundles").iterdir())
    assert bundles == sorted(path.name for path in files)
    assert files[0].name == "test_them.py-test_etl.observatory.zip"
    assert files[1].name.startswith("test_them.py-test_with-..-..-etc-")
    runs = []
    for path in files:
        with Bundle(tmp_path / path) as bundle:
            runs.append(bundle.manifest.run)
    assert [each.name for each in runs][:4] == ["test_them.py::test_etl", *["nightly <etl>"] * 3]
    assert [each.outcome for each in runs][:4] == ["finished", "erred", "erred", "finished"]
    assert "def test_etl(client):" in runs[0].code


def test_a_folder_that_can_t_be_made_is_said_before_any_test(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(tmp_path, TESTS, "--observe-to=file/bundles")
    assert (done.returncode, "passed" in done.stdout) == (4, False)
    assert "--observe-to: [Errno 20] Not a directory: 'file/bundles'" in done.stderr
