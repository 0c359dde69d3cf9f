// Where Observatory is on its host: behind a proxy it can be below a path.

/** "" or a path without a slash at its end, such as "/dask". An exported file has no server, and "". */
export const SITE = (globalThis.document?.documentElement?.dataset?.site ?? "").replace(/\/$/, "");
