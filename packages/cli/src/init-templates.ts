// The templates of `tessera init`: directories beside the sources, written as they are.

export const TEMPLATES = {
  minimal: { about: "one agent with one tool", input: "hello world" },
  "multi-agent": { about: "a planner that gives its work to two others at once", input: "tea" },
  service: { about: "an agent whose tool runs in a program of your own, over HTTP", input: "a stitch in time" },
} as const;

export type TemplateName = keyof typeof TEMPLATES;

/** Where the templates lie. */
export const TEMPLATES_DIRECTORY = new URL("../templates/", import.meta.url);
/** A file that starts with a dot is kept without it: Git and npm would obey it here. */
export const DOTTED: Readonly<Record<string, string>> = { gitignore: ".gitignore" };
