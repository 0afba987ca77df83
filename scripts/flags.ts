// The flags of the commands that prove and measure. A mistake in one is reported in a line, without a stack, and ends the command with 2.

/** What the user of the command can correct. */
export class FlagMistake extends Error {}

export function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new FlagMistake(`--${name} must be a whole number, not ${text}`);
  return value;
}

/** To be called first: flags are read at the top of a command, outside of any try. */
export function tellFlagMistakes(whereToLook = `The flags are listed at the top of ${process.argv[1]}.`): void {
  process.on("uncaughtException", (error: NodeJS.ErrnoException) => {
    if (!(error instanceof FlagMistake) && error.code?.startsWith("ERR_PARSE_ARGS") !== true) throw error;
    console.error(`${error.message}\n${whereToLook}`);
    process.exit(2);
  });
}
