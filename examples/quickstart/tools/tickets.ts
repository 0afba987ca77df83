// Buys train tickets: an effect that must happen once, whatever happens to the process that does it.
//
//   T1. The ledger stands for the office's books: one line for each payment, with the key of its call. Each call has one
//       key, and every attempt at it has the same one.
//   T2. Cut off in the middle, it is unknown whether the ticket was paid. Then `buy` is not run again: the reconciler looks
//       into the books first.

import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ToolContext, ToolReconcile } from "@tessera/tool";

const SEATS = { "08:09": "coach 4, seat 21", "19:39": "coach 2, seat 11" } as const;
const QUEUE_MS = 2_000;
const PRINT_MS = 2_500;

interface Order {
  readonly train: keyof typeof SEATS;
}

function ledger({ workdir }: ToolContext): string {
  return join(workdir, "ledger.txt");
}

function ticketOf({ train }: Order) {
  return { train, seat: SEATS[train] };
}

export const handlers = {
  async buy(ctx: ToolContext, order: Order) {
    await delay(QUEUE_MS, undefined, { signal: ctx.signal });
    await appendFile(ledger(ctx), `${ctx.idempotencyKey} ${order.train}\n`); // T1: this is the payment
    ctx.logger.info(`paid for the ${order.train} train; waiting for the ticket`);
    await delay(PRINT_MS, undefined, { signal: ctx.signal });
    return ticketOf(order);
  },
};

export const reconcilers: Record<string, ToolReconcile> = {
  async buy(ctx, { idempotencyKey, input }) {
    const order = input as unknown as Order;
    const books = await readFile(ledger(ctx), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return ""; // nothing was paid yet
      throw error;
    });
    if (!books.includes(`${idempotencyKey} `)) {
      ctx.logger.info(`cut off before the ${order.train} train was paid; buying the ticket now`);
      return { outcome: "not_done" };
    }
    ctx.logger.info(`cut off after the ${order.train} train was paid; not paying again`);
    return { outcome: "done", output: ticketOf(order) }; // T2
  },
};
