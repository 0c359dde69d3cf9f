// The page of an export or import: moves the bar, and shows the outcome once there is one.

const SECONDS = 1;
const job = /** @type {HTMLElement} */ (document.getElementById("job"));
const bar = /** @type {HTMLProgressElement} */ (document.getElementById("progress"));
const words = /** @type {HTMLElement} */ (document.getElementById("progress-words"));

setInterval(look, 1000 * SECONDS);

async function look() {
  if (document.hidden) return;
  let told;
  try {
    const response = await fetch(`/api/v1/jobs/${job.dataset.job}`);
    if (response.status === 404) location.reload();
    if (!response.ok) return;
    told = await response.json();
  } catch {
    return; // the server is away: the next round tries again
  }
  if (told.state === "running") {
    bar.value = told.progress;
    words.textContent = `${Math.floor(100 * told.progress)} %`;
  } else if (told.state !== "waiting") {
    location.reload();
  }
}
