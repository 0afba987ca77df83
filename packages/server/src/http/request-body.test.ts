import Type from "typebox";
import { expect, it } from "vitest";
import { bodyReader } from "./request-body.ts";

const read = bodyReader(
  Type.Object(
    { ids: Type.Array(Type.String(), { maxItems: 100 }), free: Type.Optional(Type.Unknown()) },
    { additionalProperties: false },
  ),
);

it("names the first field that does not fit, in a small body and in a large one", async () => {
  await expect(read({ ids: ["a"], free: Array(200_000).fill(1) })).resolves.toBeDefined();
  await expect(read({ ids: ["a", 1] })).rejects.toThrow("ids/1 must be string");
  await expect(read({ ids: Array(200_000).fill("") })).rejects.toThrow("ids must not have more than 100 items");
  await expect(read({ ids: [], fre: 1 })).rejects.toThrow("fre is not known here");
  await expect(read({ free: Array(200_000).fill(1) })).rejects.toThrow("ids is required");
  const names = Array.from({ length: 60_000 }, (_, n) => [`k${n}`, 1]);
  await expect(read({ ...Object.fromEntries(names), ids: [] })).rejects.toThrow("the body has more than 1000 fields");
});

it("looks no further into a body that does not fit than a body that fits may go", async () => {
  let looks = 0;
  const ids = new Proxy(Array(200_000).fill(1), {
    get(target, name, receiver) {
      looks += 1;
      return Reflect.get(target, name, receiver);
    },
  });
  await expect(read({ ids })).rejects.toThrow("ids/0 must be string");
  expect(looks).toBeLessThan(5_000);
});
