"""Somebody who looks for an answer with the mouse, and counts the clicks."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page

READY = "() => document.documentElement.dataset.ready === '1'"
ATTEMPTS = 300
PLACE = """([canvas, time]) => {
  const { start, stop, width } = observatory.view, box = canvas.getBoundingClientRect();
  return [box.right - 12 - width + ((time - start) / (stop - start)) * width, box.top + box.height / 2];
}"""
"""where on the screen a canvas has an instant"""
KEEP_IN_SIGHT = """chart => {
  const scroll = () => chart.scrollIntoView({ block: "center", behavior: "instant" });
  window.keptInSight?.disconnect();
  window.keptInSight = new ResizeObserver(scroll);
  for (const panel of document.querySelectorAll("[data-chart]")) window.keptInSight.observe(panel);
  scroll();
}"""
"""not below the overview, also while charts above are loaded and grow"""
SHARE = """([canvas, from, to, name]) => {
  const { timeline, model } = observatory.context;
  const [first, length] = [timeline.first, Math.max(timeline.end - timeline.first, 1)];
  const { width } = observatory.view, ratio = canvas.width / canvas.clientWidth;
  const left = canvas.clientWidth - 12 - width;
  const x = (time) => Math.round((left + ((time - first) / length) * width) * ratio);
  const { data } = canvas.getContext("2d").getImageData(x(from), 0, x(to) - x(from), canvas.height);
  const swatch = document.createElement("i");
  swatch.style.color = model.color([...model.prefixes.values()].find((one) => one.name === name).id);
  document.body.append(swatch);
  const color = getComputedStyle(swatch).color.match(/[0-9]+/g).slice(0, 3).map(Number);
  swatch.remove();
  let found = 0;
  for (let at = 0; at < data.length; at += 4) {
    found += color.every((part, place) => data[at + place] === part);
  }
  return found / (data.length / 4);
}"""
UNITS = {
    "%": 1.0,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "B": 1.0,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
}


class Visitor:
    """Begins on the page of a run."""

    def __init__(self, page: Page, run: str) -> None:
        self.page = page
        self.run = run
        self.answered: list[int] = []
        """clicks to each answer"""
        self._clicks = 0

    def start(self) -> None:
        """Opens the run's page, from which another way begins."""
        self.page.evaluate("() => localStorage.clear()")  # the card is folded, as for somebody new
        self.page.goto(self.run)
        self.page.wait_for_function(READY)
        self._clicks = 0

    def found(self) -> None:
        """Here is an answer."""
        self.answered.append(self._clicks)

    def click(self, what: Locator) -> None:
        what.click()
        self._clicks += 1

    def click_at(self, canvas: Locator, time: float) -> None:
        self._move(canvas, time)
        self.page.mouse.down()
        self.page.mouse.up()
        self._clicks += 1

    def choose(self, select: Locator, option: str) -> None:
        select.select_option(label=option)
        self._clicks += 1

    def open_card(self) -> None:
        self.click(self.page.locator("#run-strip > summary"))

    def open_tab(self, name: str) -> None:
        tabs = self.page.get_by_role("navigation", name="Pages of the run")
        self.click(tabs.get_by_role("link", name=re.compile(rf"^{re.escape(name)}( \d+)?$")))

    def chart(self, name: str) -> Locator:
        """A chart that stays in sight until another one is wanted: others are not drawn."""
        found = self.page.locator(f"[data-chart={name}]")
        found.evaluate(KEEP_IN_SIGHT)
        return found

    def pointed(self, name: str, time: float) -> dict[str, str]:
        """What a chart tells of an instant that the mouse points to, in its order."""
        chart = self.chart(name)
        tooltip = chart.locator(".tooltip")
        for _ in range(ATTEMPTS):  # charts move as long as others are loaded
            self.page.mouse.move(0, 0)
            self._move(chart.locator("canvas").first, time)
            self.page.wait_for_timeout(100)
            if tooltip.is_visible():
                break
        names, values = (tooltip.locator(part).all_inner_texts() for part in ("dt", "dd"))
        return dict(zip(names, values, strict=True))

    def highest(self, name: str, label: str, times: list[float]) -> float:
        """The largest number that a chart tells of a line at any of the times."""
        return max(amount(self.pointed(name, time).get(label, "0 s")) for time in times)

    def overview_share(self, prefix: str, start: float, stop: float) -> float:
        """The share of the overview that has the colour of a prefix between two times."""
        overview = self.page.locator(".overview canvas").element_handle()
        share: float = self.page.evaluate(SHARE, [overview, start, stop, prefix])
        return share

    def _move(self, canvas: Locator, time: float) -> None:
        x, y = self.page.evaluate(PLACE, [canvas.element_handle(), time])
        self.page.mouse.move(x, y)


def amount(text: str) -> float:
    """The seconds, bytes or percents of a text such as `1.50 s` or `38.1 MiB`."""
    found = re.findall(r"([\d.,]+)\s*(%|(?:µs|ms|s|min|B|KiB|MiB|GiB)\b)", text)
    assert found, text
    return sum(float(number.replace(",", "")) * UNITS[unit] for number, unit in found)
