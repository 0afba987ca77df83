import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject, ToolHandler } from '@goondan/types';
import { count, mostFrequent } from './measure/index.js';
import { requireFileName } from './file-name.js';
import defaults from './defaults.json' with { type: 'json' };

export const handlers: Record<string, ToolHandler> = {
  count: (_ctx, input) => ({ ...count(String(input.text)) }),

  frequent: (_ctx, input) => mostFrequent(String(input.text), Number(input.limit ?? defaults.limit)),

  save: async (ctx, input: JsonObject) => {
    const file = requireFileName(input.name);
    const report = { ...count(String(input.text)), frequent: mostFrequent(String(input.text), defaults.limit) };
    await writeFile(join(ctx.workdir, file), `${JSON.stringify(report, null, 2)}\n`);
    ctx.logger.log(`wrote ${file}`);
    return { file, ...report };
  },
};
