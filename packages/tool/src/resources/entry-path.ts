// Where a resource may point for its code: a file of its own bundle. Links are the loader's business; this is the text.

const PATH_CHARS_MAX = 1_000;

/** A relative path that stays inside the directory it starts from, as written on any platform. */
export function isPathInside(path: string): boolean {
  if (path === "" || path.length > PATH_CHARS_MAX || /[\0\\:]/.test(path) || path.startsWith("/")) return false;
  let depth = 0;
  for (const part of path.split("/")) {
    if (part === "..") depth -= 1;
    else if (part !== "." && part !== "") depth += 1;
    if (depth < 0) return false;
  }
  return depth > 0;
}
