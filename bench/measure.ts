// How a load is kept up and what is told of it.

export interface Latencies {
  readonly calls: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly per_second: number;
}

/** Keeps every lane busy for a time; answers all latencies in milliseconds. */
export async function repeat<Lane>(
  lanes: readonly Lane[],
  ms: number,
  once: (lane: Lane) => Promise<number>,
): Promise<number[]> {
  const latencies: number[] = [];
  const end = performance.now() + ms;
  await Promise.all(
    lanes.map(async (lane) => {
      do latencies.push(await once(lane));
      while (performance.now() < end);
    }),
  );
  return latencies;
}

export function figureOf(latencies: number[], elapsedMs: number): Latencies {
  latencies.sort((a, b) => a - b);
  return {
    calls: latencies.length,
    p50_ms: round(latencies[latencies.length >> 1] ?? 0),
    p99_ms: round(latencies[Math.floor(latencies.length * 0.99)] ?? 0),
    per_second: Math.round((latencies.length / elapsedMs) * 1_000),
  };
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
