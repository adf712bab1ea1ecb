// Elements, always with text as text: what the shop or the model says is never markup here.

/** Makes an element: properties, `on…` listeners and attributes, then children. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A picture, or nothing where it cannot be had. */
export function picture(url, size) {
  if (!url) return null;
  const image = h("img", { src: url, alt: "", width: size, height: size, loading: "lazy", referrerpolicy: "no-referrer" });
  image.addEventListener("error", () => image.remove());
  return image;
}

/** A link out of this page, which learns nothing of where it was followed. */
export function out(url, text, extra = {}) {
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer", ...extra }, text, h("span", { class: "hidden" }, " (opens a new tab)"));
}

/** Tells those who cannot see the page. */
export function announce(text) {
  document.getElementById("announce").textContent = text;
}

export const scheme = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
