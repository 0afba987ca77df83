// docs/reference/yaml.md: the kinds of resources and the two forms of CommonGround uploads.

import { code, type Generator, NOTICE, table } from "./generator.ts";
import { YAML_SECTIONS } from "./yaml-kinds.ts";
import type { YamlMapping, YamlSection } from "./yaml-mapping.ts";

export const yamlReference: Generator = {
  name: "YAML reference",
  files: () => new Map([["docs/reference/yaml.md", yamlPage()]]),
};

function yamlPage(): string {
  return `${NOTICE}

# YAML

What bundles and uploads may hold. \`tessera validate\` tells every mistake with file, line and column. The same can be written in
code: \`defineTool\`, \`defineModel\`, \`defineAgent\` and \`defineSwarm\` in a \`tessera.config.ts\`.

Editors complete and check resources by the JSON Schema that is made of the same tables, where a comment names it, above each
resource of a file: \`# yaml-language-server: $schema=./node_modules/@tessera/tessera/schema/tessera.schema.json\`. It sees one
resource at a time; whether a name is there, \`tessera validate\` tells.

${YAML_SECTIONS.map(section).join("\n")}`;
}

function section({ title, text, mappings, example }: YamlSection): string {
  const shown = example === undefined ? "" : `\n\`\`\`yaml\n${example}\`\`\`\n`;
  return `## ${title}\n\n${text}\n\n${mappings.map(fieldTable).join("\n")}${shown}`;
}

function fieldTable({ at, fields }: YamlMapping): string {
  const title = at.includes(" ") ? `Fields of ${at}:` : `Fields of ${code(at)}:`;
  const rows = fields.map(([name, type, preset, says]) => [code(name), type.shown, preset, says]);
  return `${title}\n\n${table(["Field", "Type", "Default", "Meaning"], rows)}\n`;
}
