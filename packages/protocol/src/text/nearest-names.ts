// Names that may have been meant, for messages about one that is not known.

/** All of them, the most alike first. */
export function nearestNames(name: string, known: readonly string[]): string[] {
  const shape = shapeOf(name);
  return known
    .map((each) => ({ each, far: distance(shapeOf(each), shape) }))
    .sort((a, b) => a.far - b.far || (a.each < b.each ? -1 : 1))
    .map(({ each }) => each);
}

/** The one that was probably meant: a typo, another way of writing it, or a part of it. Undefined: none is that much alike. */
export function nearName(name: string, known: readonly string[]): string | undefined {
  if (name.length > NAME_CHARS_MAX) return undefined;
  const [nearest] = nearestNames(name, known);
  if (nearest === undefined) return undefined;
  const [a, b] = [shapeOf(name), shapeOf(nearest)];
  const farMax = Math.max(1, Math.floor(Math.min(a.length, b.length) / 3));
  return distance(a, b) <= farMax ? nearest : undefined;
}

/** What is said of a field that a mapping does not have. */
export function unknownField(name: string, known: readonly string[]): string {
  const near = nearName(name, known);
  const shown = JSON.stringify(
    name.length <= NAME_CHARS_MAX ? name : `${name.slice(0, NAME_CHARS_MAX).toWellFormed()}…`,
  );
  const says = `${shown} is not a field here`;
  if (near !== undefined) return `${says}; did you mean \`${near}\`?`;
  return known.length === 0 ? says : `${says}; the fields are ${[...known].sort().join(", ")}`;
}

/** Longer than any name that is known; distances to a name that fills a body would take seconds. */
const NAME_CHARS_MAX = 80;

/** `after_execution`, `afterExecution` and `AfterExecution` are one word written in three ways. */
function shapeOf(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}

/** How many characters have to be added, left out, changed or swapped with the next one. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : changed;
      next.push(Math.min(changed, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
