import { basename } from "node:path";
import type { ToolHandler } from "@tessera/tessera/tool";
import slugify from "slugify";
import { z } from "zod";

export const Title = z.object({ title: z.string().min(1) });

export const handlers: Record<string, ToolHandler> = {
  slug: (_ctx, input) => ({ slug: slugOf(Title.parse(input).title), by: basename(process.argv[1] ?? "") }),
};

export function slugOf(title: string): string {
  return slugify.default(title, { lower: true });
}
