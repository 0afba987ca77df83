// How many columns of a terminal a text takes.

/** One column each, but for marks that stand on the letter before them, and what is drawn twice as wide. */
const UNITS = String.raw`(?<wide>\p{RGI_Emoji}|\p{Emoji_Presentation})|(?<none>[\p{Mn}\p{Me}\u200c\u200d\ufe0e\ufe0f])|[\s\S]`;
/** Compiled where it is needed, which costs more than the rest of this file (protocol's visible-text.ts, V3). */
let units: RegExp | null = null;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/v;

// biome-ignore lint/suspicious/noControlCharactersInRegex: the plain case, which is nearly all there is
const PLAIN = /^[\u0000-\u02ff]*$/;

export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return unitsOf(text).reduce((sum, { width }) => sum + width, 0);
}

/** At most `columns` wide; `…` stands for what was cut, at the end or, of an id, at the beginning. */
export function cutText(text: string, columns: number, isId = false): string {
  if (textWidth(text) <= columns) return text;
  const units = unitsOf(text);
  const kept: string[] = [];
  let left = columns - 1;
  for (const { unit, width } of isId ? units.toReversed() : units) {
    left -= width;
    if (left < 0) break;
    kept.push(unit);
  }
  return isId ? `…${kept.toReversed().join("")}` : `${kept.join("")}…`;
}

export function padText(text: string, columns: number, isRight = false): string {
  const room = " ".repeat(Math.max(0, columns - textWidth(text)));
  return isRight ? room + text : text + room;
}

function unitsOf(text: string): { readonly unit: string; readonly width: number }[] {
  units ??= new RegExp(UNITS, "gv");
  return [...text.matchAll(units)].map(({ 0: unit, groups }) => {
    if (groups?.none !== undefined) return { unit, width: 0 };
    return { unit, width: groups?.wide !== undefined || WIDE.test(unit) ? 2 : 1 };
  });
}
