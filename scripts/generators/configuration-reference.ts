// docs/reference/configuration.md: every setting, from runtime's table.

import { type Generator, NOTICE } from "./generator.ts";

export const configurationReference: Generator = {
  name: "configuration reference",
  async files() {
    const { settingsPage } = await import("@tessera/runtime");
    return new Map([["docs/reference/configuration.md", `${NOTICE}\n\n${settingsPage()}`]]);
  },
};
