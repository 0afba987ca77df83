// A bundle with one tool for each way a call may end.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

const YAML = `apiVersion: goondan.ai/v1
kind: Tool
metadata:
  name: demo
spec:
  entry: ./demo.ts
  exports:
    - name: echo
      description: Says it back.
      parameters: {type: object, properties: {text: {type: string}}, required: [text]}
    - name: fail
      description: Fails.
      parameters: {type: object, properties: {}}
    - name: hang
      description: Never answers.
      parameters: {type: object, properties: {}}
`;

const CODE = `export const handlers = {
  echo: (ctx, input) => { ctx.logger.info("echoing"); return { text: input.text }; },
  fail: () => {
    throw Object.assign(new Error("the printer is on fire \\u001b[31m"), {
      code: "E_FIRE", suggestion: "Use the extinguisher.", helpUrl: "https://example.com/fire",
    });
  },
  hang: (ctx) => { ctx.logger.info("hanging"); return new Promise((resolve) => setTimeout(resolve, 100_000)); },
};
`;

export function writeBundle(directory: string): void {
  writeFileSync(join(directory, "tessera.yaml"), YAML);
  writeFileSync(join(directory, "demo.ts"), CODE);
}
