// Text that others wrote (tools, files, servers), for a terminal or a log: what would act on a terminal, or stand in a text
// unseen, is shown as an escape and never sent.
//
//   V1. Escapes are those of JSON (`\u009b`; two for a character beyond U+FFFF), so a line of JSON stays JSON and means the same.
//   V2. What belongs to writing stays: line breaks, tabs, emoji, joiners in the scripts that need them, variants of ideographs.
//   V3. Classes of Unicode take a tenth of a short command to compile. Text of plain characters never asks for them.

/** Controls (C0, DEL, C1), halves of surrogate pairs, line and paragraph separators, all that turns the direction of text,
 *  and whatever is drawn as nothing. */
const HIDDEN = String.raw`(?![\n\t])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]`;

/** V2 */
const KEPT = [
  String.raw`\r\n`,
  String.raw`\p{RGI_Emoji}`,
  String.raw`\p{Emoji}[\ufe0e\ufe0f]`,
  String.raw`\p{Ideographic}[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]`,
  String.raw`(?<=[[\p{M}--\p{Script=Inherited}]\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}])[\u200c\u200d](?=\p{L})`,
  String.raw`(?<=\p{Script=Mongolian})[\u180b-\u180d\u180f]`,
].join("|");

/** Latin letters and what is printed between them (V3); all others are looked at one by one. */
const IS_PLAIN = /^[\n\t -~\u00a0-\u00ac\u00ae-\u02ff\u2010-\u2027]*$/;
let hasHidden: RegExp | null = null;
let parts: RegExp | null = null;

export function visibleText(text: string): string {
  if (IS_PLAIN.test(text)) return text; // nearly always
  hasHidden ??= new RegExp(HIDDEN, "v");
  if (!hasHidden.test(text)) return text;
  parts ??= new RegExp(`${KEPT}|(?<hidden>${HIDDEN})`, "gv");
  return text.replace(parts, (part: string, hidden: string | undefined) =>
    hidden === undefined ? part : escaped(part),
  );
}

/** The same on one line. */
export function visibleLine(text: string): string {
  return visibleText(text).replace(/[\r\n\t]/g, escaped);
}

/** V1 */
function escaped(char: string): string {
  return char
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
