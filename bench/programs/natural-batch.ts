// Natural batching, for the floors: items gather while earlier batches are in flight. No timer, so nothing waits at
// concurrency 1.

export function naturalBatch<Item, Answer>(
  inFlightMax: number,
  flush: (items: readonly Item[]) => Promise<readonly Answer[]>,
): (item: Item) => Promise<Answer> {
  let waiting: { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = [];
  let inFlight = 0;
  const go = (): void => {
    if (waiting.length === 0 || inFlight >= inFlightMax) return;
    const batch = waiting;
    waiting = [];
    inFlight += 1;
    flush(batch.map((entry) => entry.item))
      .then(
        (answers) => {
          for (const [n, entry] of batch.entries()) entry.resolve(answers[n] as Answer);
        },
        (error: unknown) => {
          for (const entry of batch) entry.reject(error);
        },
      )
      .finally(() => {
        inFlight -= 1;
        go();
      });
  };
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (waiting.length === 1) setImmediate(go);
    });
}
