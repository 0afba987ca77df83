import { expect, test } from "vitest";
import { durableOfProject, streamsKept, toolDurable } from "./streams.ts";

test("a service of one project has the durable of its target with the project behind it", () => {
  expect(durableOfProject(toolDurable("words"), "default")).toBe("tool_words_cmd_v1r4_default");
  expect(durableOfProject(toolDurable("words"), undefined)).toBe("tool_words_cmd_v1r4");
});

test("two pairs of target and project never meet in one durable, whatever they are called", () => {
  const parts = [
    "a",
    "b",
    "a_cmd_v1r4",
    "b_cmd_v1r4",
    "a_cmd_v1r4_b",
    "b_cmd_v1r4_a",
    "_",
    "v1r4",
    "_v1r4",
    "cmd_v1r4_",
  ];
  const names = parts.flatMap((target) =>
    [undefined, ...parts].map((project) => durableOfProject(toolDurable(target), project)),
  );
  expect(new Set(names).size).toBe(parts.length * (parts.length + 1));
});

test("a broker keeps the streams of the current version, and the commands to peers of the older one", () => {
  expect(streamsKept().map(({ name }) => name)).toEqual(["cg_cmd_v1r3", "cg_cmd_v1r4", "cg_evt_v1r4"]);
});
