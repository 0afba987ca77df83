// Text that others wrote (tools, files, servers), for a terminal: control characters are shown, never sent.

/** C0, DEL and C1 controls, and what reverses the direction of a line. Line feeds and tabs stay. */
const CONTROLS = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

export function visibleText(text: string): string {
  return text.replace(CONTROLS, escapeChar);
}

/** The same on one line. */
export function visibleLine(text: string): string {
  return visibleText(text).replace(/[\n\t]/g, escapeChar);
}

function escapeChar(char: string): string {
  return `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
}
