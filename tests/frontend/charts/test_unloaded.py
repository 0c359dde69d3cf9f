"""Charts mark the parts of a window whose tiles have not arrived."""

from __future__ import annotations

from playwright.sync_api import Page

DRAWN = """async (unloaded) => {
  const { drawUnloaded } = await import("/frontend/charts/drawing/unloaded.js");
  const { Surface } = await import("/frontend/charts/drawing/surface.js");
  const surface = new Surface(document.body, "test");
  surface.clear(400, 40);
  const written = [];
  surface.context.fillText = (text) => written.push(text);
  drawUnloaded(surface.context, unloaded, (time) => time, [0, 400], 0, 40);
  const { data } = surface.context.getImageData(0, 0, 400 * surface.ratio, 40 * surface.ratio);
  const painted = [50, 150, 350].map((x) => data[(20 * 400 + x) * 4 * surface.ratio ** 2 + 3] > 0);
  return [painted, written];
}"""


def test_an_unloaded_part_is_painted_with_its_message_and_the_rest_stays_as_it_was(page: Page) -> None:
    painted, written = page.evaluate(
        DRAWN, [{"start": 0, "stop": 300, "message": "not loaded: the server answered 503", "failed": True}]
    )
    assert painted == [True, True, False]
    assert len(written) == 1
    assert written[0].startswith("not loaded: the server answered 503")
