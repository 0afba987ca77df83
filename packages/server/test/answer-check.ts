// Holds what is answered to what the table of routes says is answered: every test that sends a request checks it on the way.

import type { TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import type { RouteSpec } from "../src/index.ts";

const validators = new WeakMap<TSchema, Validator>();

export function checkAnswer(
  routes: readonly RouteSpec[],
  answer: { readonly method: string; readonly url: string; readonly status: number; readonly body: unknown },
): void {
  const { method, url, status, body } = answer;
  const path = url.split("?")[0] ?? "";
  const route = routes.find((each) => each.method === method && patternOf(each.path).test(path));
  if (route === undefined || route.answerType !== undefined) return;
  const schema = route.answers[status];
  if (schema === undefined && status >= 400) return; // a problem, which is the same everywhere
  if (schema === undefined) throw new Error(`${route.id} answered ${status}, which it does not say`);
  if (schema === null) return;
  let validator = validators.get(schema);
  if (validator === undefined) {
    validator = Compile(schema);
    validators.set(schema, validator);
  }
  if (validator.Check(body)) return;
  const [error] = validator.Errors(body);
  throw new Error(
    `${route.id} answered what it does not say: ${error?.instancePath} ${error?.message} in ${JSON.stringify(body)}`,
  );
}

function patternOf(path: string): RegExp {
  return new RegExp(
    `^${path
      .replace(/:([a-z]+)/g, "[^/:]+")
      .replace("::", ":")
      .replace(/\./g, "\\.")}$`,
  );
}
