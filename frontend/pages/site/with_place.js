// Links that pass on the current view, which is in the query string: <a data-with-place href="…">.

for (const link of document.querySelectorAll("a[data-with-place]"))
  follow(/** @type {HTMLAnchorElement} */ (link));

/** @param {HTMLAnchorElement} link */
function follow(link) {
  const target = new URL(link.href);
  const take = () => {
    const place = new URLSearchParams(location.search);
    for (const [name, value] of new URLSearchParams(target.search))
      if (!place.has(name)) place.set(name, value);
    link.href = `${target.pathname}?${place}`;
  };
  for (const event of ["pointerenter", "focus", "click", "auxclick"]) link.addEventListener(event, take);
}
