/** In linear time: `/\/+$/` tries each of many slashes that are not at the end, and addresses are untrusted input. */
export function withoutTrailing(text: string, mark: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === mark) end -= 1;
  return text.slice(0, end);
}
