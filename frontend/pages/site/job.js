// The page of a job or deletion: updates the progress bar, and reloads when the job has ended.

import { SITE } from "../../site.js";

const SECONDS = 1;
const job = /** @type {HTMLElement} */ (document.getElementById("job"));
const bar = /** @type {HTMLProgressElement} */ (document.getElementById("progress"));
const words = /** @type {HTMLElement} */ (document.getElementById("progress-words"));

setInterval(poll, 1000 * SECONDS);

async function poll() {
  if (document.hidden) return;
  let status;
  try {
    const response = await fetch(`${SITE}${job.dataset.url}`);
    if (response.status === 404) location.reload();
    if (!response.ok) return;
    status = await response.json();
  } catch {
    return; // the server is unreachable: try again next time
  }
  if (status.state === "running") {
    bar.value = status.progress;
    words.textContent = `${Math.floor(100 * status.progress)} %`;
  } else if (status.state !== "waiting") {
    location.reload();
  }
}
