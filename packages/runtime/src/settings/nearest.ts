// The name that somebody may have meant.

export function nearestOf(name: string, known: readonly string[]): string {
  const byDistance = [...known].sort((a, b) => distance(a, name) - distance(b, name) || (a < b ? -1 : 1));
  return byDistance[0] ?? "";
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
