// A path as a person and an editor take it: from the current directory where it lies below it, else from the root.

import { relative, resolve } from "node:path";

export function shownPath(path: string): string {
  const absolute = resolve(path);
  const way = relative("", absolute);
  return way.startsWith("..") ? absolute : way || ".";
}
