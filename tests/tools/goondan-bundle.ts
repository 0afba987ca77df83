// A bundle as a user of Goondan writes one: modules in its shapes, types from `@goondan/types`, errors and the
// environment in its manner. Written for these tests; no line of it knows Tessera.

const PROBE_TS = `
import type { JsonObject, JsonValue, ToolContext, ToolHandler } from '@goondan/types';
import { need, textOf } from './shared/input.js';

const seen: ToolHandler = async (ctx: ToolContext, input: JsonObject): Promise<JsonValue> => {
  ctx.logger.info('seen', textOf(input, 'word'));
  return {
    word: textOf(input, 'word'),
    agentName: ctx.agentName,
    instanceKey: ctx.instanceKey,
    turnId: ctx.turnId,
    traceId: ctx.traceId,
    toolCallId: ctx.toolCallId,
    workdir: ctx.workdir,
    hasRuntime: ctx.runtime !== undefined,
    message: {
      id: ctx.message.id,
      role: ctx.message.data.role,
      content: ctx.message.data.content as JsonValue,
      source: { ...ctx.message.source } as JsonValue,
      isDate: ctx.message.createdAt instanceof Date,
    },
  };
};

const fail: ToolHandler = (_ctx, input) => {
  const word = need(input, 'word');
  throw Object.assign(new Error('cannot ' + word + ': ' + 'x'.repeat(200)), {
    name: 'ProbeError', code: 'E_PROBE', suggestion: 'try another word', helpUrl: 'https://help.example/probe',
  });
};

const strange: ToolHandler = (_ctx, input) => {
  switch (input.kind) {
    case 'undefined': return undefined as never;
    case 'text': return 'plain text';
    case 'list': return [1, 'two', null];
    case 'function': return (() => 1) as never;
    case 'string-error': throw 'only text';
    default: return null;
  }
};

const token: ToolHandler = () => {
  const found = process.env.PROBE_TOKEN ?? process.env.PROBE_TOKEN_OLD;
  if (found === undefined) throw new Error('no token is configured');
  return { found: true };
};

const colleagues: ToolHandler = async (ctx, input) => {
  const runtime = ctx.runtime;
  if (!runtime) throw new Error('no runtime');
  const event = {
    id: 'evt-' + Math.random(), type: 'agent.request', createdAt: new Date(), traceId: ctx.traceId,
    source: { kind: 'agent' as const, name: ctx.agentName }, input: 'hello from ' + ctx.agentName,
    instanceKey: ctx.instanceKey, replyTo: { target: ctx.agentName, correlationId: 'corr-1' },
  };
  if (input.to === 'nobody') return await runtime.request('nobody', event) as never;
  const spawned = await runtime.spawn('helper', { instanceKey: 'desk', cwd: 'shared' });
  const answer = await runtime.request('helper', { ...event, instanceKey: 'desk' }, { timeoutMs: 20000 });
  const sent = await runtime.send('helper', { ...event, id: event.id + '-2' });
  const listed = await runtime.list();
  const catalog = await runtime.catalog();
  return { spawned, answer: { ...answer, eventId: typeof answer.eventId }, sent: sent.accepted, listed: listed.agents.map(({ createdAt, ...agent }) => ({ ...agent, isDate: !Number.isNaN(Date.parse(createdAt)) })), catalog } as never;
};

export const handlers = { seen, fail, strange, token, colleagues } satisfies Record<string, ToolHandler>;
`;

const SHARED_TS = `
import type { JsonObject } from '@goondan/types';
export function textOf(input: JsonObject, key: string): string | null {
  const value = input[key];
  return typeof value === 'string' ? value : null;
}
export function need(input: JsonObject, key: string): string {
  const value = textOf(input, key);
  if (value === null || value === '') throw new Error("'" + key + "' must be a non-empty string");
  return value;
}
`;

/** CommonJS, a handler that is no async function, a name that is a word of the language. */
const PLAIN_CJS = `
const { appendFileSync } = require('node:fs');
const { join } = require('node:path');
exports.handlers = {
  default: (ctx, input) => { appendFileSync(join(ctx.workdir, 'notes.txt'), input.line + '\\n'); return { workdir: ctx.workdir }; },
};
`;

/** Named like a built-in and its exports, on purpose. */
const FILES_TS = `
import type { ToolHandler } from '@goondan/types';
export const read: ToolHandler = async (_ctx, input) => ({ own: true, path: input.path ?? null });
export const handlers = { read };
`;

const TOOLS_YAML = `
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: probe, labels: { tier: test } }
spec:
  entry: ./tools/probe.ts
  errorMessageLimit: 80
  exports:
    - name: seen
      description: Says what it sees.
      parameters:
        $schema: http://json-schema.org/draft-07/schema#
        type: object
        properties: { word: { type: string }, pair: { type: array, items: [{ type: string }, { type: number }] } }
        additionalProperties: false
    - name: fail
      description: Fails.
      parameters: { type: object, properties: { word: { type: string } } }
    - name: strange
      parameters: { type: object, properties: { kind: { type: string } } }
    - { name: token }
    - { name: colleagues, parameters: { type: object, properties: { to: { type: string } } } }
---
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: notes }
spec:
  entry: ./tools/notes.cjs
  exports: [{ name: default, parameters: { type: object, properties: { line: { type: string } }, required: [line] } }]
---
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: file-system }
spec:
  entry: ./tools/files.ts
  exports: [{ name: read, parameters: { type: object, properties: { path: { type: string } } } }]
`;

const SWARM_YAML = `
apiVersion: goondan.ai/v1
kind: Model
metadata: { name: script }
spec:
  provider: scripted
  model: script
  options:
    rules:
      - { when: { agent: helper, step: 0 }, reply: { toolCalls: [{ name: notes__default, arguments: { line: "{{input}}" } }] } }
      - { when: { agent: helper }, reply: { text: "noted in {{result.workdir}}" } }
      - { when: { step: 0 }, reply: { toolCalls: [{ name: probe__colleagues, arguments: { to: "{{input}}" } }] } }
      - { reply: { text: "{{result}}" } }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: boss }
spec:
  modelConfig: { modelRef: Model/script }
  toolCalls: sequential
  tools: [{ ref: Tool/probe }]
  requiredTools: [probe__colleagues]
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: helper }
spec:
  modelConfig: { modelRef: { kind: Model, name: script } }
  tools: ["Tool/notes"]
---
apiVersion: goondan.ai/v1
kind: Swarm
metadata: { name: crew }
spec:
  entryAgent: "Agent/boss"
  agents: [{ ref: "Agent/boss" }, { ref: "Agent/helper" }]
`;

export const GOONDAN_BUNDLE: Readonly<Record<string, string>> = {
  "goondan.yaml": `${TOOLS_YAML}---${SWARM_YAML}`,
  "tools/probe.ts": PROBE_TS,
  "tools/shared/input.ts": SHARED_TS,
  "tools/notes.cjs": PLAIN_CJS,
  "tools/files.ts": FILES_TS,
};
