import { linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findStoreHolder, lockStore, StoreLockedError } from "./store-lock.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-lock-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** What a killed process leaves: a socket under a visible name without a listener, and its holder file. */
async function leaveStaleLock(id: string): Promise<void> {
  const place = join(directory, "lock");
  mkdirSync(place, { recursive: true });
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(place, "dying"), resolve));
  linkSync(join(place, "dying"), join(place, `${id}.sock`));
  writeFileSync(join(place, `${id}.holder`), JSON.stringify({ pid: 1, startedAt: "2026-01-01T00:00:00.000Z" }));
  await new Promise((resolve) => server.close(resolve));
}

test("of many contenders at the same instant exactly one holds, with and without leftovers of the dead", async () => {
  for (let round = 0; round < 25; round++) {
    if (round % 2 === 1) await leaveStaleLock(round % 4 === 1 ? "0000000000000000" : "ffffffffffffffff");
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => lockStore(directory)));
    const winners = outcomes.filter((outcome) => outcome.status === "fulfilled");
    const losers = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(winners).toHaveLength(1);
    for (const loser of losers) expect(loser.reason).toBeInstanceOf(StoreLockedError);
    await winners[0]?.value.release();
    expect(readdirSync(join(directory, "lock"))).toEqual([]);
  }
});

test("contenders that arrive one after the other find the holder and name it", async () => {
  const lock = await lockStore(directory);
  for (let attempt = 0; attempt < 5; attempt++) {
    await expect(lockStore(directory)).rejects.toThrow(`in use by process ${process.pid}`);
  }
  expect(await findStoreHolder(directory)).toMatchObject({ pid: process.pid });
  await lock.release();
});

test("a dead holder is not reported as a holder", async () => {
  await leaveStaleLock("8000000000000000");
  expect(await findStoreHolder(directory)).toBeNull();
});

test("the holder answers on its socket with one line of JSON", async () => {
  const lock = await lockStore(directory);
  lock.announceApi("http://127.0.0.1:8099");
  const name = readdirSync(join(directory, "lock")).find((each) => each.endsWith(".sock")) ?? "";
  const chunks: Buffer[] = [];
  for await (const chunk of connect(join(directory, "lock", name))) chunks.push(chunk as Buffer);
  const line = Buffer.concat(chunks).toString();
  expect(line.endsWith("\n")).toBe(true);
  expect(JSON.parse(line)).toMatchObject({ pid: process.pid, apiUrl: "http://127.0.0.1:8099" });
  await lock.release();
});
