// Restate: a virtual object whose handler calls a service in another process, asked over the server's ingress.

import { Agent, request } from "node:http";
import * as restate from "@restatedev/restate-sdk";
import { freePort } from "../../packages/testkit/src/servers/free-port.ts";
import { answerQuestions, flags, needed, role, startSecond } from "../programs/program.ts";
import { measurePeer } from "./peer-load.mjs";

const AGENTS = 4_096;

async function serve(service) {
  await restate.serve({ port: Number(needed("url")), services: [service] });
  answerQuestions();
}

if (role === "tool") {
  await serve(restate.service({ name: "tool", handlers: { echo: async (_, args) => args } }));
} else if (role === "agent") {
  const turn = async (ctx, { args }) => {
    const { text } = await ctx.serviceClient({ name: "tool" }).echo(args);
    ctx.set("steps", ((await ctx.get("steps")) ?? 0) + 1);
    return text;
  };
  await serve(restate.object({ name: "agent", handlers: { turn } }));
} else {
  const [ingress, admin] = flags.restate.split(",");
  const processes = [];
  for (const name of ["tool", "agent"]) {
    const port = await freePort();
    processes.push(await startSecond(name, ["--url", String(port)]));
    const answer = await fetch(`${admin}/deployments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ uri: `http://127.0.0.1:${port}`, force: true }),
    });
    if (!answer.ok) throw new Error(`the deployment was refused: ${await answer.text()}`);
  }
  const connections = new Agent({ keepAlive: true, maxSockets: 128 });
  const body = JSON.stringify({ args: { text: "hello world" } });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const ask = (key) =>
    new Promise((resolve, reject) => {
      const options = { agent: connections, method: "POST", headers };
      const asked = request(`${ingress}/agent/${key}/turn`, options, (answer) => {
        answer.resume();
        answer.on("end", () =>
          answer.statusCode === 200 ? resolve() : reject(new Error(`HTTP ${answer.statusCode}`)),
        );
      });
      asked.on("error", reject);
      asked.end(body);
    });
  let turns = 0;
  await measurePeer(() => {
    turns += 1;
    return ask(`a${turns % AGENTS}`);
  });
  for (const each of processes) each.end();
  process.exit(0);
}
