// A time for a table: to the second.

export function shortTime(time: string): string {
  return time.replace(/\.\d+(?=Z|$)/, "");
}
