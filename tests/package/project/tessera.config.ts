import { defineTool } from "@tessera/tool";
import { slugOf, Title } from "./tools/slug.ts";

export const titlesSlug = defineTool({
  name: "titles__slug",
  description: "Make a slug of a title",
  parameters: Title,
  effect: "read",
  handler: (_ctx, { title }) => ({ slug: slugOf(title) }),
});

export default { tools: [titlesSlug] };
