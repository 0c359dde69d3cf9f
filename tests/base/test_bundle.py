"""A page's modules, and its styles, as one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import LazySettings
from playwright.sync_api import Page

from observatory.base.static.bundle import BUNDLED, BundleError, bundle, minified
from tests.support.projects import World, make_run

READY = "() => document.documentElement.dataset.ready === '1'"
ROOT = Path(__file__).parents[2]


def write(folder: Path, **modules: str) -> Path:
    for name, source in modules.items():
        (folder / f"{name}.js").write_text(source)
    return folder / "entry.js"


def test_a_bundle_does_what_its_modules_do(tmp_path: Path, page: Page) -> None:
    entry = write(
        tmp_path,
        entry='import { twice as double } from "./arithmetic.js";\nimport "./effect.js";\n'
        "window.found = [double(21), window.effect, import.meta.url];\n",
        arithmetic='import { TWO } from "./numbers.js";\nexport function twice(x) {\n  return x * TWO;\n}\n',
        numbers="export const TWO = 2;\nconst $hidden = 1;\n",
        effect='import {\n  TWO,\n} from "./numbers.js";\nwindow.effect = TWO;\n',
    )
    made = bundle(entry, tmp_path)
    assert made.count("const TWO = 2") == 1
    page.goto("about:blank")
    page.add_script_tag(content=made.replace("import.meta.url", '"http://here/entry.js"'), type="module")
    page.wait_for_function("() => window.found")
    assert page.evaluate("() => window.found") == [42, 2, "http://here/entry.js"]


def test_a_minified_bundle_has_no_comments_and_does_the_same(page: Page) -> None:
    source = (
        "// the first\n/** @param {number} value */\nconst half = (value) => value / 2; /* a / b */\n"
        "class Counter {\n  #count = 1;\n  get count() {\n    return this.#count ?? 2;\n  }\n}\n"
        "const texts = ['http://a', \"/* b */\", `c  // ${`d  /* ${half(8)} */`}`];\n"
        "window.found = [...texts, /[/*]+ {2}\\/\\//.test('*  //'), half(3) / 2 / 1, new Counter().count]\n"
    )
    short = minified(source, "entry.bundle.js")
    assert not {"first", "@param", "value"} & set(re.findall(r"@?\w+", short))
    page.goto("about:blank")
    found = []
    for content in (source, short):
        page.evaluate("() => delete window.found")
        page.add_script_tag(content=content, type="module")
        page.wait_for_function("() => window.found")
        found.append(page.evaluate("() => window.found"))
    assert found[0] == found[1] == ["http://a", "/* b */", "c  // d  /* 4 */", True, 0.75, 1]


@pytest.mark.parametrize("entry", BUNDLED)
def test_each_bundle_is_at_least_a_fifth_smaller_when_it_is_minified(entry: str) -> None:
    content = bundle(ROOT / entry, ROOT)
    assert 0 < len(minified(content, entry)) < 0.8 * len(content)


@pytest.mark.parametrize(
    "source",
    ["export default 1;\n", "export { a };\n", 'import * as a from "./b.js";\n', "export let a = 1;\n"],
)
def test_what_cannot_be_bundled_is_refused_by_name(tmp_path: Path, source: str) -> None:
    with pytest.raises(BundleError, match=re.escape(source.strip())):
        bundle(write(tmp_path, entry=source), tmp_path)


def test_a_circle_of_imports_is_refused(tmp_path: Path) -> None:
    entry = write(
        tmp_path, entry='import { a } from "./a.js";\n', a='import "./entry.js";\nexport const a = 1;\n'
    )
    with pytest.raises(BundleError, match=r"entry\.js imports itself"):
        bundle(entry, tmp_path)


def test_a_bundle_of_styles_has_each_sheet_in_place_of_its_import(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "colors.css").write_text("a { color: red }\n")
    (tmp_path / "site" / "more.css").write_text('@import "colors.css";\na { color: green }\n')
    entry = tmp_path / "entry.css"
    entry.write_text('@import "site/more.css";\na { color: blue }\n')
    assert bundle(entry, tmp_path) == "a { color: red }\na { color: green }\na { color: blue }\n"


@pytest.mark.parametrize("source", ['@import url("a.css");\n', "a { background: url(icons/a.svg) }\n"])
def test_what_a_bundle_of_styles_would_look_for_in_another_folder_is_refused(
    tmp_path: Path, source: str
) -> None:
    entry = tmp_path / "entry.css"
    entry.write_text(source)
    with pytest.raises(BundleError, match=r"entry\.css has"):
        bundle(entry, tmp_path)


@pytest.mark.parametrize("entry", BUNDLED)
def test_what_our_pages_load_can_be_bundled(entry: str) -> None:
    there = "const $frontend_" if entry.endswith(".js") else "display: "
    assert there in bundle(ROOT / entry, ROOT)


def test_the_timeline_is_drawn_from_its_bundle_without_plotly(
    page: Page, world: World, complaints: list[str]
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"/clusters/{world.ended.pk}/")
    page.wait_for_function(READY)
    page.get_by_text("No task had run yet.").wait_for()
    assert not any("plotly" in url for url in asked), "no timeline page loads its megabytes"
    modules = [url for url in asked if "/frontend/" in url and url.endswith(".js")]
    # what stands in every header is in no bundle
    in_every_header = {"theme.js", "header.bundle.js"}
    assert {url.rsplit("/", 1)[1] for url in modules} == {"cluster.bundle.js", *in_every_header}
    styles = [url for url in asked if url.endswith(".css")]
    assert {url.rsplit("/", 1)[1] for url in styles} == {"site.bundle.css", "timeline.bundle.css"}
    assert complaints == []


def test_while_developing_pages_are_drawn_from_their_modules(
    page: Page, world: World, settings: LazySettings, complaints: list[str]
) -> None:
    settings.DEBUG = True
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    other = make_run(world.ended, "another")
    page.goto(f"/clusters/{world.ended.pk}/")
    page.wait_for_function(READY)
    page.goto(f"/runs/compare/?a={world.run.pk}&b={other.pk}")
    page.wait_for_function(READY)
    page.goto("/admin/alerts/rule/add/")
    page.get_by_label("quantity", exact=True).first.select_option("worker-memory")
    page.get_by_text("share of its limit” is above 90 %").wait_for()
    assert complaints == []
    page.goto(f"/runs/{world.run.pk}/compare-workers/?label=zone&a=x&b=y")  # which no worker has
    page.wait_for_function(READY)
    loaded = " ".join(asked)
    assert "bundle" not in loaded
    assert all(entry in loaded for entry in BUNDLED)
