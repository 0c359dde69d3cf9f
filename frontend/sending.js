// Sends requests that change something to the API.

/** A refusal of the server. `fields` has the messages by field, "__all__" those of the whole form. */
export class Refused extends Error {
  /**
   * @param {string} message
   * @param {Record<string, string[]>} fields
   */
  constructor(message, fields) {
    super(message);
    this.fields = fields;
  }
}

/**
 * Sends JSON with the page's CSRF token; throws Refused.
 * @param {"POST"|"PATCH"|"DELETE"} method
 * @param {string} url
 * @param {Record<string, any>} [body]
 * @returns {Promise<any>} what was answered
 */
export async function send(method, url, body) {
  // the form to sign out, which is on every page, has it
  const token = /** @type {HTMLInputElement|null} */ (document.querySelector("[name=csrfmiddlewaretoken]"));
  const headers = { "Content-Type": "application/json", "X-CSRFToken": token?.value ?? "" };
  let response;
  try {
    response = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    throw new Refused("The server can't be reached. Nothing is lost: try again.", {});
  }
  const answer = response.status === 204 ? null : await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const detail =
    typeof answer.detail === "string" ? answer.detail : `The server answered ${response.status}.`;
  throw new Refused(detail, answer.errors ?? {});
}
