// The ways in which a secret is written down: what a tool is likely to make of it on the way into a result or a log.
//
//   F1. A form is long enough to mean the secret: what is shorter than FORM_CHARS_MIN would blank out innocent text.
//   F2. Base64 of a longer text holds the secret at one of three alignments. A form holds the characters that depend on
//       the secret alone; at each edge a few bits stay.

export const FORM_CHARS_MIN = 4;
/** A line of a many-line secret (a PEM key) is a secret of its own from this length on: logs are split into lines. */
const LINE_CHARS_MIN = 8;
/** Longer secrets are known by their raw and JSON forms only; the rest would cost memory for nothing. */
const ENCODED_CHARS_MAX = 8_192;

/** Every written form of one secret, without doubles. */
export function secretForms(secret: string): Set<string> {
  const forms = new Set([secret, jsonEscaped(secret), jsonAscii(secret)]);
  if (secret.length <= ENCODED_CHARS_MAX) {
    const bytes = Buffer.from(secret, "utf8");
    for (const form of [...urlForms(secret, bytes), ...hexForms(bytes), ...base64Forms(bytes)]) forms.add(form);
  }
  const lines = secret.split(/\r\n|\r|\n/);
  if (lines.length > 1) {
    for (const line of lines) if (line.trim().length >= LINE_CHARS_MIN) forms.add(line.trim());
  }
  for (const form of forms) if (form.length < FORM_CHARS_MIN) forms.delete(form); // F1
  return forms;
}

function jsonEscaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** As writers do that keep to ASCII (`é`). */
function jsonAscii(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is what ASCII is
  return jsonEscaped(text).replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function urlForms(text: string, bytes: Buffer): string[] {
  const component = encodeURIComponent(text.toWellFormed());
  const strict = component.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  const every = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, "0").toUpperCase()}`).join("");
  const forms = [
    component,
    strict,
    strict.replaceAll("%20", "+").replaceAll("~", "%7E"),
    encodeURI(text.toWellFormed()),
    every,
  ];
  return forms.flatMap((form) => [form, lowerEscapes(form)]);
}

function hexForms(bytes: Buffer): string[] {
  const hex = bytes.toString("hex");
  return [hex, hex.toUpperCase()];
}

/** F2. A character holds six bits: the first that is the secret's alone starts after the padding's bits, and so on. */
function base64Forms(bytes: Buffer): string[] {
  const texts = [bytes.toString("base64")]; // the whole, with its last bits and padding, where it stands alone
  for (let before = 0; before < 3; before++) {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    texts.push(text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6)));
  }
  return texts.flatMap((text) => {
    const encoded = encodeURIComponent(text);
    return [text, text.replaceAll("+", "-").replaceAll("/", "_"), encoded, lowerEscapes(encoded)];
  });
}

function lowerEscapes(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}
