// A host runs its code for its own project and for definitions that mean it, and gives its variables to no other.

import { startToolService } from "@tessera/executor";
import { CardBox, subscribeToolCommands } from "@tessera/executor/wire";
import { waitFor } from "@tessera/testkit";
import { defineTool } from "@tessera/tool";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CallWorld } from "./call-world.ts";
import { ToolWorld } from "./tool-world.ts";

const SECRET = "S3CRET-canary-value-12345";

describe("a tool host", () => {
  let world: ToolWorld;
  beforeAll(async () => {
    world = await ToolWorld.open("pglite");
  });
  afterAll(() => world.close());

  it("gives no built-in and no variable to a definition that was uploaded for its targets", async () => {
    const hosted = await world.host({
      env: { STRIPE_KEY: SECRET },
      openApiTargets: ["openapi"],
      builtins: ["file-system"],
    });
    const { kernel } = world.node;
    const target_subject = "cg.v1r4.{project_id}.{channel_id}.cmd.tool.openapi.run";
    await kernel.putTool({
      project_id: hosted.project,
      tool_name: "file-system__write",
      target_subject,
      after_execution: "suspend",
      options: { envs: { content: "STRIPE_KEY" }, args: { fixed: { path: "loot.txt", append: false } } },
    });
    const answer = await world.call(hosted, "file-system__write", {});
    expect(answer).toMatchObject({ status: "failed", error: { code: "stale_tool_definition" } });
  });

  it("hands an uploaded definition's variables to its own code only where the operator listed them", async () => {
    const keys = defineTool({
      name: "keys__show",
      placement: "service",
      effect: "read",
      parameters: { type: "object", properties: { key: { type: "string" } } },
      handler: (_ctx, input) => ({ got: input.key === SECRET }),
    });
    const upload = (project: string) =>
      world.node.kernel.putTool({
        project_id: project,
        ...keys.definition,
        options: { ...keys.definition.options, envs: { key: "STRIPE_KEY" } },
      } as never);
    const strict = await world.host({ tools: [keys as never], env: { STRIPE_KEY: SECRET } });
    await upload(strict.project);
    expect(await world.call(strict, "keys__show", {})).toMatchObject({ status: "success", result: { got: false } });
    const lenient = await world.host({
      tools: [keys as never],
      env: { STRIPE_KEY: SECRET },
      envAllowList: ["STRIPE_KEY"],
    });
    await upload(lenient.project);
    expect(await world.call(lenient, "keys__show", {})).toMatchObject({ status: "success", result: { got: true } });
  });

  it("runs no call of another project, though both call their target the same", async () => {
    const named = (who: string) =>
      defineTool({ name: "find__run", placement: "service", target: "find", effect: "read", handler: () => ({ who }) });
    const one = await world.host({ tools: [named("one") as never] });
    const two = await world.host({ tools: [named("two") as never] });
    const answers = await Promise.all(Array.from({ length: 6 }, () => world.call(two, "find__run", {})));
    expect(answers.map((answer) => (answer.result as { who: string }).who)).toEqual(Array(6).fill("two"));
    expect(await world.call(one, "find__run", {})).toMatchObject({ result: { who: "one" } });
  });
});

describe("on a bus and a store that everybody shares", () => {
  let world: CallWorld;
  beforeAll(async () => {
    world = await CallWorld.open({ sweep: true });
  });
  afterAll(() => world.close());

  it("a service of one project takes nothing of another, heard or found", async () => {
    const ran: string[] = [];
    const runner = {
      run: async ({ tool_call_id }: { tool_call_id: string }) => {
        ran.push(tool_call_id);
        return { status: "success", after_execution: "suspend", result: {}, error: null } as const;
      },
      close: async () => undefined,
    };
    const service = (project: string) =>
      startToolService({ ...world, target: "lookup", project, executor: project, runner, onWarning: () => {} });
    const other = await service("someotherproject");
    const call = await world.commit({
      target_subject: `cg.v1r4.${world.project}.public.cmd.tool.lookup.run`,
      effect: "read",
    });
    // Rung again by the sweeper, at once, so that a look would find it.
    await world.store.database.query("update state.calls set due_at = clock_timestamp() where tool_call_id = $1", [
      call.tool_call_id,
    ]);
    await waitFor(
      async () => {
        const rows = await world.store.database.query<{ rings: number }>(
          "select rings from state.calls where tool_call_id = $1",
          [call.tool_call_id],
        );
        return (rows[0]?.rings ?? 0) > 0;
      },
      { what: "a second ring", timeoutMs: 15_000 },
    );
    const own = await service(world.project);
    await world.settled(call.tool_call_id);
    expect(ran).toEqual([call.tool_call_id]);
    expect((await world.call(call.tool_call_id)).claimed_by).toBe(world.project);
    await Promise.all([other.stop(), own.stop()]);
  }, 30_000);

  it("a command without a ticket neither joins nor ends the run of the call it names", async () => {
    let runs = 0;
    let finish = () => {};
    const { bus, kernel, clock } = world;
    const cardbox = new CardBox({ port: kernel, clock, executor: "raw" });
    const warnings: string[] = [];
    const subscription = await subscribeToolCommands({
      bus,
      kernel,
      clock,
      target: "rawtarget",
      cardbox,
      handler: async (message) => {
        const { tool_call_card_id } = JSON.parse(new TextDecoder().decode(message.data));
        await cardbox.getCards([tool_call_card_id], { projectId: world.project });
        runs += 1;
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        cardbox.holdOf(String(message.headers["CG-Tool-Call-Id"])); // still ours
      },
      onWarning: (warning) => warnings.push(warning),
    });
    const call = await world.commit({ target_subject: `cg.v1r4.${world.project}.public.cmd.tool.rawtarget.run` });
    await waitFor(() => runs === 1, { what: "the run" });
    const { "CG-Call-Ticket": _, ...headers } = call.command.headers;
    const forged = new TextEncoder().encode('{"tool_call_card_id":"forged_card"}');
    await bus.publish([{ ...call.command, headers, data: forged }]);
    await waitFor(() => warnings.length > 0, { what: "the refusal" });
    expect(runs).toBe(1);
    finish();
    await subscription.stop();
    expect(warnings.join("")).not.toContain("is not held here");
  });
});

describe("a result that JSON writes shorter than the store", () => {
  it("is refused by the gate, and the call says that its tool ran", async () => {
    const world = await ToolWorld.open("pglite");
    const tiny = (placement: "inline" | "service") =>
      defineTool({ name: `tiny__${placement}`, placement, handler: () => ({ n: Array(4_000).fill(1.5e-290) }) });
    const hosted = await world.host({ tools: [tiny("inline") as never, tiny("service") as never] });
    for (const name of ["tiny__inline", "tiny__service"]) {
      const answer = await world.call(hosted, name, {});
      expect(answer, name).toMatchObject({ status: "failed", error: { code: "payload_too_large" } });
    }
    const many = defineTool({ name: "many__ones", effect: "read", handler: () => Array(420_000).fill(1) });
    const second = await world.host({ tools: [many as never] });
    expect(await world.call(second, "many__ones", {})).toMatchObject({ status: "success" });
    await world.close();
  });
});
