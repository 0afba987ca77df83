// The places in a Markdown page that a link or a comment can name: its headings, and the ids that it gives itself.

/** As GitHub makes them, each with its `#`. */
export function anchorsOf(markdown: string): Set<string> {
  const text = markdown.replace(/^```[\s\S]*?^```/gm, "");
  const headings = (text.match(/^#+ .*$/gm) ?? []).map((heading) =>
    heading
      .replace(/^#+ /, "")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-"),
  );
  const ids = [...text.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id]) => id);
  return new Set([...headings, ...ids].map((anchor) => `#${anchor}`));
}
