import { type JsonObject, TesseraError } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { type CheckArgumentOptionsOptions, checkArgumentOptions } from "./argument-options.ts";

const parameters: JsonObject = {
  type: "object",
  properties: { a: { type: "string" }, n: { $ref: "#/$defs/n" }, key: { type: "string", minLength: 5 } },
  required: ["a", "key"],
  additionalProperties: false,
  $defs: { n: { type: "integer", minimum: 1 } },
};

function refusalOf(options: unknown, more?: CheckArgumentOptionsOptions): string {
  try {
    checkArgumentOptions({ parameters, options: options as JsonObject }, more);
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    return `${error.code} ${String(error.details.pointer)}`;
  }
  return "accepted";
}

describe("options are accepted", () => {
  it.each<JsonObject>([
    {},
    { args: { defaults: { a: "x" }, fixed: { n: 3 } }, envs: { key: "SEARCH_API_KEY" } },
    { args: { defaults: { n: "{turn_epoch}" } } },
    { args: { fixed: { undeclared: "{project_id}" } } },
    { effect: "read", placement: "edge", reconcile: true, retry: { max_attempts: 1, backoff: 0 } },
    { timeoutMs: 1, timeout_seconds: 0.5, suspend_timeout_seconds: 120, errorMessageLimit: 1 },
    { jina: { mode: "search" }, ui_allowed: true },
  ])("%j", (options) => {
    expect(refusalOf(options)).toBe("accepted");
  });
});

describe("an argument has one source", () => {
  it.each<[JsonObject, string]>([
    [{ args: { defaults: { a: "x" }, fixed: { a: "y" } } }, "conflicting_arg /options/args/fixed/a"],
    [{ args: { defaults: { a: "x" } }, envs: { a: "X" } }, "conflicting_arg /options/envs/a"],
    [{ args: { fixed: { a: "x" } }, envs: { a: "X" } }, "conflicting_arg /options/envs/a"],
    [{ args: { defaults: { a: "x" }, fixed: { a: "x" } }, envs: { a: "X" } }, "conflicting_arg /options/args/fixed/a"],
  ])("%j", (options, refusal) => {
    expect(refusalOf(options)).toBe(refusal);
  });
});

describe("variables that no tool may have", () => {
  it.each([
    ...["PATH", "Path", "HOME", "SHELL", "IFS", "ENV", "BASH_ENV", "NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "LD_PRELOAD"],
    ...["DYLD_INSERT_LIBRARIES", "PYTHONPATH", "PERL5LIB", "RUBYOPT", "GIT_SSH_COMMAND", "TESSERA_KEY", "PGPASSWORD"],
    ...["NATS_URL", "npm_config_registry", "https_proxy", "", "1A", "A B", "A=B", "a".repeat(129), "ÄB"],
  ])("%j", (name) => {
    expect(refusalOf({ envs: { key: name } })).toBe("env_not_allowed /options/envs/key");
    expect(refusalOf({ envs: { key: name } }, { envAllowList: [name] })).toBe("env_not_allowed /options/envs/key");
  });

  it("a name that is not text", () => {
    expect(refusalOf({ envs: { key: 1 } })).toBe("env_not_allowed /options/envs/key");
  });

  it("a list allows what it names and nothing else", () => {
    expect(refusalOf({ envs: { key: "JINA_API_KEY" } }, { envAllowList: ["JINA_API_KEY"] })).toBe("accepted");
    expect(refusalOf({ envs: { key: "JINA_API_KEY" } }, { envAllowList: [] })).toBe(
      "env_not_allowed /options/envs/key",
    );
  });
});

describe("template variables and values that do not fit", () => {
  it.each<[unknown, string]>([
    [{ args: { fixed: { a: "{project_id}{evil}" } } }, "unknown_template_var /options/args/fixed/a"],
    [{ args: { defaults: { a: "{{}}" } } }, "unknown_template_var /options/args/defaults/a"],
    [{ args: { defaults: { n: "x" } } }, "schema_invalid /options/args/defaults/n"],
    [{ args: { fixed: { n: 0 } } }, "schema_invalid /options/args/fixed/n"],
    [{ args: { other: {} } }, "schema_invalid /options/args/other"],
    [{ args: [] }, "schema_invalid /options/args"],
    [{ args: { defaults: "x" } }, "schema_invalid /options/args/defaults"],
    [{ envs: ["x"] }, "schema_invalid /options/envs"],
    [JSON.parse('{"args":{"fixed":{"__proto__":{"x":1}}}}'), "schema_invalid /options/args/fixed/__proto__"],
    [{ args: { fixed: { a: Number.POSITIVE_INFINITY } } }, "schema_invalid /options/args/fixed/a"],
    ["x", "schema_invalid /options"],
  ])("%j", (options, refusal) => {
    expect(refusalOf(options)).toBe(refusal);
  });
});

describe("numbers and words out of range, each by its field", () => {
  const fields = ["timeoutMs", "timeout_seconds", "suspend_timeout_seconds", "errorMessageLimit"];
  const values = [Number.POSITIVE_INFINITY, Number.NaN, -5, 0, "10s", true, null, 1e12, [], {}];
  it.each(fields.flatMap((field) => values.map((value) => [field, value] as const)))("%s: %j", (field, value) => {
    expect(refusalOf({ [field]: value })).toBe(`schema_invalid /options/${field}`);
  });

  it.each<[unknown, string]>([
    [{ timeoutMs: 1.5 }, "/options/timeoutMs"],
    [{ effect: "twice" }, "/options/effect"],
    [{ effect: true }, "/options/effect"],
    [{ placement: "moon" }, "/options/placement"],
    [{ reconcile: "yes" }, "/options/reconcile"],
    [{ retry: 3 }, "/options/retry"],
    [{ retry: { max_attempts: 0 } }, "/options/retry/max_attempts"],
    [{ retry: { max_attempts: 1e9 } }, "/options/retry/max_attempts"],
    [{ retry: { backoff: -1 } }, "/options/retry/backoff"],
    [{ retry: { backoff: "1s" } }, "/options/retry/backoff"],
  ])("%j", (options, pointer) => {
    expect(refusalOf(options)).toBe(`schema_invalid ${pointer}`);
  });

  it("the pointer starts where the caller's document has the options", () => {
    expect(refusalOf({ effect: "x" }, { pointer: "/spec" })).toBe("schema_invalid /spec/effect");
  });
});
