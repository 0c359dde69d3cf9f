// What the page sends to the server's API.

/** The server's no: `fields` are the messages of each field, "__all__" those of the whole. */
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
  // every page of somebody who is signed in has it in its form to sign out
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
  const detail = typeof answer.detail === "string" ? answer.detail : `The server answered ${response.status}.`;
  throw new Refused(detail, answer.errors ?? {});
}
