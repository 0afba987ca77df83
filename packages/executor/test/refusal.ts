// For tests: the TesseraError that something must fail with.

import { TesseraError } from "@tessera/protocol";

export async function refusalOf(promise: Promise<unknown>): Promise<TesseraError> {
  const error = await promise.then(
    (value) => new Error(`it succeeded with ${JSON.stringify(value).slice(0, 200)}`),
    (thrown: unknown) => thrown,
  );
  if (!TesseraError.is(error)) throw error;
  return error;
}
