import { describe, expect, it } from "vitest";
import { entriesOf, withRelease } from "./changelog.ts";
import { isNewer } from "./versions.ts";

const CHANGELOG = `# Changelog

What users notice.

## Unreleased

### Fixed

- One thing.

## 0.1.0 - 2026-11-16

### Added

- All of it.
`;

describe("a release", () => {
  it("takes what was unreleased, stands above the one before, and leaves an empty heading for what follows", () => {
    expect(withRelease(CHANGELOG, "0.2.0", "2026-12-01")).toBe(
      CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n## 0.2.0 - 2026-12-01\n"),
    );
  });

  it("is refused where nothing is unreleased, or there is no such heading", () => {
    const once = withRelease(CHANGELOG, "0.2.0", "2026-12-01");
    expect(() => withRelease(once, "0.3.0", "2026-12-02")).toThrow("says nothing under");
    expect(() => withRelease("# Changelog\n", "0.3.0", "2026-12-02")).toThrow("has no heading");
  });

  it("is found by its version", () => {
    expect(entriesOf(CHANGELOG, "0.1.0")).toBe("### Added\n\n- All of it.");
    expect(entriesOf(CHANGELOG, "0.1")).toBeNull();
  });
});

it("a version is newer by its first number that differs, compared as a number", () => {
  const newer = [
    ["0.1.1", "0.1.0"],
    ["0.10.0", "0.9.9"],
    ["1.0.0", "0.99.99"],
  ] as const;
  for (const [one, other] of newer) expect([isNewer(one, other), isNewer(other, one)]).toEqual([true, false]);
  expect(isNewer("0.1.0", "0.1.0")).toBe(false);
});
