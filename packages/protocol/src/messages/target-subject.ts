// `target_subject`: the template in a tool's definition from which its command's subject is made.
//
//   T1. A template is parsed, never searched for substrings: `x.cmd.sys.tool.y` contains the right words in the wrong
//       places.
//   T2. Only `{project_id}`, `{channel_id}` and `{agent_id}` are substituted; any other brace is refused.
//   T3. A template names the version its tool speaks: a v1r3 peer is sent commands of v1r3 (v1r3.ts), everybody else the
//       current one.
//   T4. A literal project must be the tool's own, or one project could address another's tools.

import { BadRequest, quoted } from "../errors/errors.ts";
import { formatSubject, isToken, SUBJECT_VERSION, SUBJECT_VERSIONS, type SubjectVersion } from "./subject.ts";

export const TARGET_SUBJECT_PLACEHOLDERS = ["project_id", "channel_id", "agent_id"] as const;
export type TargetSubjectValues = Readonly<Record<(typeof TARGET_SUBJECT_PLACEHOLDERS)[number], string>>;

export interface TargetSubject {
  readonly version: SubjectVersion;
  /** A literal, or null for the placeholder. */
  readonly project_id: string | null;
  readonly channel_id: string | null;
  /** As written; may hold placeholders. */
  readonly target: string;
  readonly action: string;
}

const PLACEHOLDER = /\{(project_id|channel_id|agent_id)\}/g;

/** Reads a template or refuses it with `invalid_target_subject`. `project_id` is the project that defines the tool. */
export function parseTargetSubject(template: string, owner: { readonly project_id?: string } = {}): TargetSubject {
  const tokens = template.split(".");
  if (tokens.length !== 8) throw refusal(template, "it must have exactly eight tokens");
  const [root, version, project, channel, category, component, target, action] = tokens as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  if (root !== "cg") throw refusal(template, "it must start with cg");
  const known = SUBJECT_VERSIONS.find((candidate) => candidate === version);
  if (known === undefined) throw refusal(template, `its version must be one of ${SUBJECT_VERSIONS.join(", ")}`);
  if (category !== "cmd" || component !== "tool") throw refusal(template, "it must be a cmd.tool subject");
  const project_id = literalOrPlaceholder(project, "project_id", template);
  const channel_id = literalOrPlaceholder(channel, "channel_id", template);
  if (project_id !== null && owner.project_id !== undefined && project_id !== owner.project_id) {
    throw refusal(template, "it names another project");
  }
  for (const token of [target, action]) {
    if (!isToken(token.replace(PLACEHOLDER, "x"))) throw refusal(template, `${quoted(token)} is not one token`);
  }
  return { version: known, project_id, channel_id, target, action };
}

/** Substitutes the three placeholders. The result is a legal subject or an error. */
export function renderTargetSubject(template: string, values: TargetSubjectValues): string {
  const { version, project_id, channel_id, target, action } = parseTargetSubject(template);
  return formatSubject({
    version,
    project_id: project_id ?? values.project_id,
    channel_id: channel_id ?? values.channel_id,
    category: "cmd",
    component: "tool",
    target: substitute(target, values),
    suffix: substitute(action, values),
  });
}

/** The template of a tool by its target and action, with placeholders for project and channel. */
export function targetSubjectFor(target: string, action: string): string {
  const template = `cg.${SUBJECT_VERSION}.{project_id}.{channel_id}.cmd.tool.${target}.${action}`;
  parseTargetSubject(template);
  return template;
}

function literalOrPlaceholder(token: string, name: "project_id" | "channel_id", template: string): string | null {
  if (token === `{${name}}`) return null;
  if (!isToken(token)) throw refusal(template, `its ${name} must be {${name}} or one literal token`);
  return token;
}

function substitute(token: string, values: TargetSubjectValues): string {
  return token.replace(PLACEHOLDER, (_, name: keyof TargetSubjectValues) => values[name]);
}

function refusal(template: string, why: string): BadRequest {
  return new BadRequest(`target_subject ${quoted(template)} cannot be used: ${why}`, {
    code: "invalid_target_subject",
    details: { target_subject: template.slice(0, 200) },
  });
}
