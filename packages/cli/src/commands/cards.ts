// tessera cards show: one card, as the store has it.

import { isJsonObject, visibleLine } from "@tessera/protocol";
import type { Command } from "commander";
import { withApi } from "../connect/connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { checkId } from "../flags/flag-values.ts";
import { type ApiFlags, addApiFlags } from "../flags/flags.ts";
import { isNotFound } from "../output/api-failure.ts";
import { errorWithTodo } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";
import type { ProgramParts } from "../program.ts";

export function defineCards(cards: Command, { terminal, onExit }: ProgramParts): void {
  addApiFlags(cards.command("show"))
    .argument("<card-id>", "as `turns show` names it")
    .description("show a card: what was said, called or answered")
    .action(async (cardId: string, flags: ApiFlags) => onExit(await cardsShow(cardId, flags, terminal)));
}

async function cardsShow(cardId: string, flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
  checkId("<card-id>", cardId);
  const { project } = flags;
  const found = await withApi(flags, terminal, async ({ client }) => {
    try {
      return await client.getCard({ project, card: cardId });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const todo = "See the cards of a turn: tessera turns show TURN.";
      throw errorWithTodo("not_found", `project ${project} has no card ${cardId}`, todo);
    }
  });
  const { wireDocument } = await import("@tessera/client");
  const card = wireDocument("Card", found);
  if (flags.json === true) {
    terminal.out(`${JSON.stringify({ ok: true, card })}\n`);
    return EXIT.ok;
  }
  const { content, metadata, ...facts } = card;
  const lines = Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(
      ([name, value]) =>
        `${name.padEnd(14)}${visibleLine(typeof value === "string" ? value : JSON.stringify(value))}\n`,
    );
  const lineage = isJsonObject(metadata) ? `\nmetadata\n${JSON.stringify(metadata, null, 2)}\n` : "";
  const text = isJsonObject(content) && typeof content.text === "string" && Object.keys(content).length === 1;
  const body = text ? `${content.text}\n` : `${JSON.stringify(content, null, 2)}\n`;
  terminal.out(`${lines.join("")}${lineage}\ncontent\n${body}`);
  return EXIT.ok;
}
