// Starts the modules of an HTML report, which contains them as gzip in base64 and allows them by their hash.
"use strict";
void (async () => {
  const packed = document.getElementById("modules")?.textContent ?? "";
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.type = "module";
  script.textContent = await new Response(unpacked).text();
  document.head.append(script);
})();
