// Settings as people see them: what `tessera doctor` prints, and the page of the reference.
//
//   E1. No secret is shown: of a key only that it is set, of a URL everything but its password.

import { expectedText, type SettingValue } from "./read-value.ts";
import type { ResolvedSetting, ResolvedSettings } from "./resolve.ts";
import { SETTING_NAMES, type SettingName, type SettingSpec, specOf } from "./table.ts";

/** A setting with its value, for people. */
export interface DescribedSetting {
  readonly name: SettingName;
  /** For people (E1); empty: not set. */
  readonly value: string;
  /** `default`, or the flag, the variable or the place in the file. */
  readonly source: string;
  readonly says: string;
}

/** Settings with their values and where each comes from, for people. */
export function describeSettings({ settings }: Pick<ResolvedSettings, "settings">): DescribedSetting[] {
  return settings.map(({ name, value, from }: ResolvedSetting) => {
    const spec = specOf(name);
    return { name, value: shown(spec, value), source: from ?? "default", says: spec.says };
  });
}

function shown({ isSecret, type }: SettingSpec, value: SettingValue | undefined): string {
  if (value === undefined) return "";
  if (isSecret) return "set"; // E1
  const text = Array.isArray(value) ? value.join(",") : String(value);
  return type.kind.endsWith("_url") ? withoutPassword(text) : text;
}

/** Also of several URLs, and of passwords given as parameters. A NATS token stands where a user's name would. */
function withoutPassword(text: string): string {
  return text
    .split(",")
    .map((part) =>
      part.trim().replace(/^([a-z][a-z0-9+.-]*:\/\/)(.*)@/i, (_, start: string, who: string) => {
        const name = who.includes(":") ? (who.split(":")[0] ?? "") : /^(nats|tls):/i.test(start) ? "***" : who;
        return `${start}${name}${who.includes(":") ? ":***" : ""}@`;
      }),
    )
    .join(",")
    .replace(/([?&](?:password|sslpassword|token)=)[^&,]*/gi, "$1***");
}

/** docs/reference/configuration.md, from the table. */
export function settingsPage(): string {
  const rows = SETTING_NAMES.map((name) => {
    const { flag, variable, alias, key, says, type, default: value } = specOf(name);
    const names = [variable, alias]
      .filter((each) => each !== null && each !== undefined)
      .map(code)
      .join(" or ");
    return `| ${[
      code(name),
      flag && code(flag),
      names,
      key && code(key),
      code(defaultText(value)),
      expectedText(type),
      says,
    ]
      .map((cell) => cell || "–")
      .join(" | ")} |`;
  });
  return `# Configuration

Every setting may be given as a flag, as an environment variable or in the bundle. A flag wins over the environment, the
environment over the bundle, the bundle over the default. \`tessera doctor\` prints the values in effect and where each
comes from. An empty variable counts as unset.

\`data\`, \`postgres\` and \`url\` name one place between them: where a flag names one, the other sources are not looked at for
any of the three. Secrets have neither a flag nor a key in the bundle.

| setting | flag | variable | key | default | value | meaning |
|---|---|---|---|---|---|---|
${rows.join("\n")}

## In the bundle

In \`tessera.config.ts\`:

\`\`\`ts
export default {
  settings: { data: "./store", port: 8100, builtins: ["file-system"] },
};
\`\`\`

In YAML, in the Package of the bundle:

\`\`\`yaml
apiVersion: tessera/v1
kind: Package
metadata: { name: my-bundle }
spec:
  settings:
    data: ./store
    port: 8100
    builtins: [file-system]
\`\`\`

A relative path is relative to the bundle. A key that is no setting is a mistake, with its place and the nearest name.
`;
}

function defaultText(value: SettingSpec["default"]): string {
  if (value === null) return "";
  return Array.isArray(value) ? value.join(",") : String(value);
}

function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}
