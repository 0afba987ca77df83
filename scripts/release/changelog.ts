// CHANGELOG.md: what is not released stands on top, then the releases, the newest first.

/** What stands under a heading, and where. */
interface Section {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

const UNRELEASED = "Unreleased";

/** The same changelog with its unreleased entries as a release of that day. */
export function withRelease(changelog: string, version: string, day: string): string {
  const section = sectionOf(changelog, UNRELEASED);
  if (section === null) throw new Error(`CHANGELOG.md has no heading "## ${UNRELEASED}"`);
  if (section.text === "")
    throw new Error(`CHANGELOG.md says nothing under "## ${UNRELEASED}": nothing is to be released`);
  const [before, after] = [changelog.slice(0, section.from), changelog.slice(section.to)];
  return `${before}\n## ${version} - ${day}\n\n${section.text}\n\n${after}`.trimEnd().concat("\n");
}

/** The entries of a release, or null where there is none of that name. */
export function entriesOf(changelog: string, version: string): string | null {
  return sectionOf(changelog, version)?.text ?? null;
}

function sectionOf(changelog: string, name: string): Section | null {
  const headings = [...changelog.matchAll(/^## (\S+).*\n/gm)];
  const at = headings.findIndex(([, title]) => title === name);
  const heading = headings[at];
  if (heading === undefined) return null;
  const from = heading.index + heading[0].length;
  const to = headings[at + 1]?.index ?? changelog.length;
  return { from, to, text: changelog.slice(from, to).trim() };
}
