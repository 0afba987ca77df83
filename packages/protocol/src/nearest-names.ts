// Names that somebody may have meant, for messages about one that is not known.

/** All of them, the most alike first. */
export function nearestNames(name: string, known: readonly string[]): string[] {
  return [...known].sort((a, b) => distance(a, name) - distance(b, name) || (a < b ? -1 : 1));
}

/** How many characters have to be added, left out or changed (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
