import { expect, it } from "vitest";
import { visibleLine, visibleText } from "./visible-text.ts";

it.each(
  Object.entries({
    "a C1 control that starts a colour": ["\u009b31mX", "\\u009b31mX"],
    "an escape": ["\u001b[2J", "\\u001b[2J"],
    delete: ["a\u007fb", "a\\u007fb"],
    "a bell, and a backspace": ["\u0007\b", "\\u0007\\u0008"],
    "a carriage return that overwrites its line": ["safe\revil", "safe\\u000devil"],
    "an override of direction": ["\u202egnp.exe", "\\u202egnp.exe"],
    "an isolate, and a mark": ["\u2067x\u2069\u200f\u061c", "\\u2067x\\u2069\\u200f\\u061c"],
    "a space of no width inside a word": ["pay\u200bpal", "pay\\u200bpal"],
    "a joiner between Latin letters": ["pay\u200dpal", "pay\\u200dpal"],
    "a joiner after a Latin letter with an accent": ["e\u0301\u200dx", "e\u0301\\u200dx"],
    "a byte order mark, and a soft hyphen": ["\ufeffa\u00adb", "\\ufeffa\\u00adb"],
    "letters that are drawn as nothing": ["\u3164\uffa0", "\\u3164\\uffa0"],
    "tags without a flag, which carry hidden text": ["a\u{e0041}", "a\\udb40\\udc41"],
    "variation selectors that carry bytes": ["x\u{e0100}\ufe01", "x\\udb40\\udd00\\ufe01"],
    "half of a surrogate pair": ["\ud800x", "\\ud800x"],
    "separators of lines and paragraphs": ["a\u2028b\u2029", "a\\u2028b\\u2029"],
  }),
)("%s is shown, not sent", (_, [text = "", shown = ""]) => {
  expect(visibleText(text)).toBe(shown);
  expect(visibleText(shown)).toBe(shown);
});

it.each(
  Object.entries({
    "line breaks of both kinds, and tabs": "a\n\tb\r\nc",
    "emoji of several characters": "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️ 1️⃣ 🇵🇹 👍🏽 ☺︎",
    "joiners where a script needs them": "می‌خواهم क्‍ष",
    "a variant of an ideograph": "葛󠄀",
    "accents, and other scripts": "Über naïve שלום مرحبا 日本語 e\u0301",
  }),
)("%s stay as they are", (_, text) => {
  expect(visibleText(text)).toBe(text);
});

it("every character of the first plane that acts or is not seen is shown, wherever it stands between plain ones", () => {
  const hidden = /^[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]$/u;
  const all = Array.from({ length: 0x10000 }, (_, unit) => String.fromCharCode(unit));
  const acting = all.filter((char) => hidden.test(char) && char !== "\n" && char !== "\t");
  expect(acting.length).toBeGreaterThan(2_000);
  expect(acting.filter((char) => visibleText(`a${char}…`).length !== 8)).toEqual([]);
  const others = all.filter((char) => !hidden.test(char));
  expect(others.filter((char) => visibleText(`a${char}…`) !== `a${char}…`)).toEqual([]);
});

it("on one line breaks and tabs are shown, too", () => {
  expect(visibleLine("a\nb\tc\r\nd\u009b")).toBe("a\\u000ab\\u0009c\\u000d\\u000ad\\u009b");
});

it("a line of JSON stays JSON and means the same", () => {
  const value = { text: "\u009b31mX\u007f\u202e\ud800\u{e0041}\u2028👩‍👧", "\u0085": ["\u200b"] };
  const shown = visibleText(JSON.stringify(value));
  expect(JSON.parse(shown)).toEqual(value);
  expect(shown.replace("👩‍👧", "")).toMatch(/^[\x20-\x7e]*$/);
});
