import { expect, it } from "vitest";
import { storeWords } from "./paste-command.ts";

const SECRET = "postgres://me:secret@h/d";

it.each([
  [{ postgres: "postgres://me@h:5432/d" }, {}, "--postgres postgres://me@h:5432/d"],
  [{ postgres: SECRET }, {}, "--postgres postgres://me@h/d"],
  [{ postgres: SECRET }, { TESSERA_POSTGRES: SECRET }, '--postgres "$TESSERA_POSTGRES"'],
  [{ postgres: "postgres://h/d?password=secret" }, {}, "--postgres postgres://h/d"],
  [{ nats: "nats://h:4222" }, { TESSERA_NATS: "nats://other" }, "--nats nats://h:4222"],
  [{ postgres: "host=h password=secret" }, {}, "--postgres URL"],
])("a command to paste has what was given, and never a password: %j with %j is %s", (flags, env, words) => {
  expect(storeWords({ ...flags, project: "default" }, env).join(" ")).toBe(words);
});
