// A tool service without `@tessera/tool`: commands from NATS, cards and reports over the HTTP edge.
//
//   node main.ts --nats nats://127.0.0.1:4222 --url http://127.0.0.1:8099 --key tsk_…
//
// `--store store_…` for a broker that two stores share: the id that `tessera start` prints.

import { parseArgs } from "node:util";
import { CardBox, connectExecutor, subscribeToolCommands } from "@tessera/tessera/wire";
import { handleToolCommand } from "./handler.ts";

const { values } = parseArgs({
  options: {
    nats: { type: "string" },
    url: { type: "string" },
    key: { type: "string" },
    project: { type: "string" },
    target: { type: "string" },
    store: { type: "string" },
  },
});
const { nats, url, key, project = "default", target = "example", store: storeId } = values;
if (nats === undefined || url === undefined || key === undefined) {
  console.error("usage: main.ts --nats URL --url URL --key KEY [--project default] [--target example] [--store ID]");
  process.exit(2);
}

const onWarning = (warning: string) => console.error(`warning: ${warning}`);
const link = await connectExecutor({ nats, url, apiKey: key, storeId, onWarning });
const cardbox = new CardBox({ port: link.edge, clock: link.clock, executor: `raw-${process.pid}` });
const subscription = await subscribeToolCommands({
  ...link,
  project,
  target,
  cardbox,
  handler: async (msg) => {
    const answer = await handleToolCommand(msg, { cardbox, ids: link.ids, doSomething });
    console.log(JSON.stringify(answer));
  },
  onWarning,
});
console.log(`listening for commands of ${target}`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, async () => {
    await subscription.stop();
    await link.close();
  });
}

function doSomething(args: Readonly<Record<string, unknown>>): unknown {
  if (args.fail === true) throw new Error("told to fail");
  return { echo: args };
}
