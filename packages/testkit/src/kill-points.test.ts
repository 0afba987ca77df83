import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KILL_POINTS } from "@tessera/kernel/ports";
import { expect, onTestFinished, test } from "vitest";
import { TestChild } from "./child-process.ts";
import { killPointsFromEnvironment, parseKillOrder, pausePoints } from "./kill-points.ts";

const CHILD = new URL("../test/kill-point-child.ts", import.meta.url);

test("a child is killed at the named passing of the named point, and the log proves it", async () => {
  const directory = mkdtempSync(join(tmpdir(), "tessera-kill-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const log = join(directory, "kill.log");
  const env = { TESSERA_KILL_AT: "report.after_commit:3", TESSERA_KILL_LOG: log };
  const child = await TestChild.start(CHILD, { env });
  await child.expectSignal("SIGKILL");
  expect(readFileSync(log, "utf8")).toBe("killed at report.after_commit\n");
  expect(child.messages).toEqual([{ passed: 1 }, { passed: 2 }]);
});

test("without an order every point is inert", async () => {
  const points = killPointsFromEnvironment({});
  for (const name of KILL_POINTS) await points.at(name);
  const child = await TestChild.start(CHILD);
  expect(await child.ended()).toEqual({ code: 0, signal: null });
});

test("an order that names no point, or no passing, is refused", () => {
  expect(parseKillOrder("resume.before_commit")).toEqual({ name: "resume.before_commit", passing: 1 });
  expect(() => parseKillOrder("resume.befor_commit")).toThrow("names no kill point");
  expect(() => parseKillOrder("resume.before_commit:0")).toThrow("n from 1");
});

test("a pause point holds one passing until it is released and lets others through", async () => {
  const points = pausePoints();
  const log: string[] = [];
  const path = async (name: string) => {
    await points.at("report.before_commit");
    log.push(name);
  };
  const reached = points.holdNext("report.before_commit");
  const first = path("held");
  await path("passes");
  const held = await reached;
  expect(log).toEqual(["passes"]);
  held.release();
  await first;
  expect(log).toEqual(["passes", "held"]);
  expect(points.passed("report.before_commit")).toBe(2);
});
