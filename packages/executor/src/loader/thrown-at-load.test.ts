import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@tessera/engines/system";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIsolatedHost, type IsolatedHost } from "../placements/isolated/isolated-host.ts";
import { loadBundleTools } from "./bundle-tools.ts";
import { importEntry } from "./tool-module.ts";

let root: string;
let isolated: IsolatedHost;
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "tessera-load-")));
  isolated = createIsolatedHost({ clock: systemClock, onWarning: () => {} });
});
afterAll(async () => {
  await isolated.close();
  await rm(root, { recursive: true, force: true });
});

const THROWS = "const rates: any = {};\nexport const usd = read();\nfunction read() { return rates.eur.usd; }\n";
const STACK =
  /rates\.ts threw when it was loaded: TypeError: .*\n {4}at read \(.*rates\.ts:3:\d+\)\n {4}at .*rates\.ts:2:/;

describe("a module that throws when it is loaded", () => {
  it.each(["inline", "isolated"])("is named at its line, and its stack is in the log once (%s)", async (placement) => {
    await writeFile(join(root, "rates.ts"), THROWS);
    const resource = `apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: rates }
spec: { entry: ./rates.ts, placement: ${placement}, exports: [{ name: usd }] }
`;
    await writeFile(join(root, "tessera.yaml"), resource);
    const warnings: string[] = [];
    const { mistakes } = await loadBundleTools(root, { isolated, onWarning: (warning) => void warnings.push(warning) });
    expect(mistakes).toMatchObject([{ message: expect.stringMatching(/\(rates\.ts:3:\d+\)$/) }]);
    expect(warnings).toEqual([expect.stringMatching(STACK)]);
  });

  it("is reported so where it is an extension's, too", async () => {
    await writeFile(join(root, "rates.ts"), THROWS);
    const warnings: string[] = [];
    const onWarning = (warning: string) => void warnings.push(warning);
    await expect(importEntry("./rates.ts", root, { onWarning })).rejects.toThrow(/\(rates\.ts:3:\d+\)$/);
    expect(warnings).toEqual([expect.stringMatching(STACK)]);
  });

  it("adds nothing to the log where nothing of it ran: the message says all there is", async () => {
    await writeFile(join(root, "rates.ts"), "export const x = ;\n");
    const warnings: string[] = [];
    const onWarning = (warning: string) => void warnings.push(warning);
    await expect(importEntry("./rates.ts", root, { onWarning })).rejects.toThrow(/rates\.ts:1:\d+/);
    expect(warnings).toEqual([]);
  });
});
