// The links of documents that travel in a package: what travels with them is linked in the package, the rest in the repository,
// as it is at the version's tag.

import { dirname, join, relative } from "node:path/posix";

/** A relative link, as tests/docs/links.test.ts reads them: the path, and what follows it. */
const RELATIVE = /\]\((?![a-z]+:|#)([^)#\s]+)((?:#[^)\s]+)?\))/g;

export interface Destination {
  /** Path in the repository → path in the package: files, and folders with all that is in them. */
  readonly files: Readonly<Record<string, string>>;
  /** What a path of the repository is appended to. */
  readonly repository: string;
}

/** A document of the package with its links, for the place that it has there. */
export function withLinks(markdown: string, document: string, { files, repository }: Destination): string {
  const place = packagedPath(document, files) ?? document;
  return markdown.replace(RELATIVE, (_, path: string, rest: string) => {
    const target = join(dirname(document), path);
    const packaged = packagedPath(target, files);
    return `](${packaged === null ? `${repository}/${target}` : relative(dirname(place), packaged)}${rest}`;
  });
}

function packagedPath(path: string, files: Destination["files"]): string | null {
  const [from, to] = Object.entries(files).find(([each]) => path === each || path.startsWith(`${each}/`)) ?? [];
  return from === undefined || to === undefined ? null : to + path.slice(from.length);
}
