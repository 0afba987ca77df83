// For tests: the CGError that something must fail with.

import { CGError } from "@tessera/protocol";

export async function refusalOf(promise: Promise<unknown>): Promise<CGError> {
  const error = await promise.then(
    (value) => new Error(`it succeeded with ${JSON.stringify(value).slice(0, 200)}`),
    (thrown: unknown) => thrown,
  );
  if (!CGError.is(error)) throw error;
  return error;
}
