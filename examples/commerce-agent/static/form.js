// The form that mends what the shop still needs.

import { h } from "./dom.js";

/** A field with its label and with what the shop says about it. */
function field({ name, label, kind, autocomplete, required, value, options, message, code }, index) {
  const note = message && h("p", { class: "blocker", id: `blocker-${index}`, "data-code": code }, message);
  if (kind === "note" || !name) return note;
  const described = note ? `blocker-${index}` : null;
  if (kind === "choice") {
    return h(
      "fieldset",
      { "aria-describedby": described },
      h("legend", {}, label),
      note,
      options.map((option) =>
        h(
          "label",
          { class: "choice" },
          h("input", { type: "radio", name, value: option.value, required }),
          h("span", {}, option.label, option.hint && h("small", {}, option.hint)),
          h("span", { class: "price" }, option.price ?? ""),
        ),
      ),
    );
  }
  const number = kind === "number" ? { min: 0, inputmode: "numeric" } : {};
  const short = name.endsWith("address_country") ? { maxlength: 2, minlength: 2, size: 4 } : {};
  return h(
    "div",
    { class: "field" },
    note,
    h("label", { for: `field-${index}` }, label, required ? null : h("small", {}, " optional")),
    h("input", { id: `field-${index}`, type: kind, name, value, required, autocomplete, "aria-describedby": described, ...number, ...short }),
  );
}

/** The form, which gives what was filled in to `submit`. */
export function form(fields, submit) {
  const mendable = fields.some((it) => it.name);
  const alert = h("p", { class: "problem", role: "alert" });
  // A form that is sent twice is one: another try is another form.
  let attempt = crypto.randomUUID();
  const send = async (event) => {
    event.preventDefault();
    const button = element.querySelector("button");
    if (button.disabled) return;
    button.disabled = true;
    alert.textContent = "";
    try {
      await submit({ attempt, values: Object.fromEntries(new FormData(element)) });
    } catch (error) {
      alert.textContent = error.message;
      if (error.code !== "offline" && error.code !== "unknown") attempt = crypto.randomUUID();
      button.disabled = false;
    }
  };
  const element = h(
    "form",
    { class: "mend", onsubmit: send, "aria-label": "What the shop still needs" },
    fields.map(field),
    alert,
    mendable && h("button", { type: "submit" }, "Continue"),
  );
  return element;
}
