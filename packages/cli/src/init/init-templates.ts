// The templates of `tessera init`; template-files.ts reads them.

export const TEMPLATES = {
  minimal: { about: "one agent with one tool", input: "hello world" },
  "multi-agent": { about: "a planner that gives its work to two others at once", input: "tea" },
  service: { about: "an agent whose tool runs in a program of your own, over HTTP", input: "a stitch in time" },
} as const;

export type TemplateName = keyof typeof TEMPLATES;
