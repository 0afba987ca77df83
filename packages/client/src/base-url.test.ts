import { describe, expect, it } from "vitest";
import { ApiError } from "./api-error.ts";
import { readApiKey, readBaseUrl } from "./base-url.ts";

function errorOf(task: () => unknown): ApiError {
  try {
    task();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("the URL of the API", () => {
  it.each([
    ["http://127.0.0.1:8099", "http://127.0.0.1:8099"],
    ["http://127.0.0.1:8099/", "http://127.0.0.1:8099"],
    ["https://example.org/tessera//", "https://example.org/tessera"],
    ["HTTP://Example.org", "http://example.org"],
  ])("%s is understood", (text, url) => {
    expect(readBaseUrl(text)).toBe(url);
  });

  it.each([
    ["127.0.0.1:8099", "did you mean http://127.0.0.1:8099?"],
    ["localhost:8099/", "did you mean http://localhost:8099?"],
    ["ftp://example.org", "must start with http:// or https://"],
    ["", "must start with http:// or https://"],
    ["http://me:secret@example.org", "must not hold a user or a password"],
    ["http://example.org?x=1", "query"],
  ])("%s is refused with a hint", (text, hint) => {
    const error = errorOf(() => readBaseUrl(text));
    expect(error.message).toContain(hint);
    expect(error.message).not.toContain("secret");
    expect(error).toMatchObject({ status: 0, code: "bad_request" });
  });
});

describe("the key", () => {
  it("may be absent", () => {
    expect(readApiKey(undefined)).toBeNull();
    expect(readApiKey("tsk_abc")).toBe("tsk_abc");
  });

  it.each(["", "tsk_abc\n", "tsk abc", "schlüssel"])("%j is refused and not repeated", (key) => {
    const { message } = errorOf(() => readApiKey(key));
    expect(message).toContain("apiKey");
    if (key !== "") expect(message).not.toContain(key.trim());
  });
});
