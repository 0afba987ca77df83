// tool-search: a tool that finds tools. What it found is what the next steps offer, until it is asked again.
//
//   S1. It looks through everything the agent may call, also while a selection narrows what is offered.
//   S2. What it knows is state of the agent's instance: another process goes on with the same selection.

import { isJsonObject, type JsonValue } from "@tessera/protocol";
import type { ExtensionApi, ToolCatalogItem } from "../api.ts";
import { count, text, yesOrNo } from "./config.ts";

interface ToolSearchConfig extends Readonly<Record<string, boolean | number | string>> {
  readonly toolName: string;
  readonly maxResults: number;
  readonly minQueryLength: number;
  readonly persistSelection: boolean;
}

interface SearchState {
  readonly selected: string[];
  readonly catalog: { name: string; description: string }[];
}

/** State has 64 KiB: so many tools with so much of their descriptions fit. */
const TOOLS_MAX = 200;
const DESCRIPTION_CHARS_MAX = 200;

export const toolSearch = {
  name: "tool-search",
  fields: {
    toolName: text("tool-search__search"),
    maxResults: count(10, 1, 100),
    minQueryLength: count(1, 1, 100),
    persistSelection: yesOrNo(true),
  },
  register(api: ExtensionApi, config: ToolSearchConfig): void {
    const { toolName, maxResults, minQueryLength, persistSelection } = config;
    const state = async () => readState(await api.state.get());
    const keep = async (next: SearchState) => await api.state.set({ ...next });

    api.tools.register(
      {
        name: toolName,
        description:
          "Finds tools by a word of their name or description. The tools that are found are offered from the next step on.",
        effect: "idempotent",
        parameters: {
          type: "object",
          properties: {
            query: { type: "string", description: "A word, or part of one." },
            limit: { type: "integer", minimum: 1, description: `At most so many tools; at most ${maxResults}.` },
          },
          required: ["query"],
          additionalProperties: false,
        },
      },
      async (_ctx, { query, limit }) => {
        const { catalog } = await state(); // S1
        const wanted = String(query).trim().toLowerCase();
        const isFound = (item: SearchState["catalog"][number]) =>
          `${item.name} ${item.description}`.toLowerCase().includes(wanted);
        const results = wanted.length < minQueryLength ? [] : catalog.filter(isFound);
        const found = results.slice(0, Math.min(maxResults, typeof limit === "number" ? limit : maxResults));
        const selected = found.map(({ name }) => name);
        if (persistSelection && selected.length > 0) await keep({ selected, catalog });
        return { query: String(query), results: found, selectedTools: selected };
      },
    );

    api.pipeline.register("step", async (ctx) => {
      const known = await state();
      const catalog = ctx.toolCatalog
        .filter(({ name }) => name !== toolName)
        .slice(0, TOOLS_MAX)
        .map(brief);
      if (JSON.stringify(catalog) !== JSON.stringify(known.catalog)) await keep({ ...known, catalog }); // S2
      if (known.selected.length > 0) {
        ctx.toolCatalog = ctx.toolCatalog.filter(({ name }) => name === toolName || known.selected.includes(name));
      }
      return await ctx.next();
    });
  },
};

function brief({ name, description }: ToolCatalogItem): { name: string; description: string } {
  return { name, description: description.slice(0, DESCRIPTION_CHARS_MAX).toWellFormed() };
}

function readState(value: JsonValue): SearchState {
  const state = isJsonObject(value) ? value : {};
  const { selected = [], catalog = [] } = state as Partial<SearchState>;
  return { selected, catalog };
}
