import { createTessera } from "@tessera/tessera";
import { titlesSlug } from "./tessera.config.ts";

const tessera = await createTessera({ tools: [titlesSlug], log: () => {} });
try {
  const { status, result } = await tessera.callTool("titles__slug", { title: "Hello Oslo" });
  console.log(JSON.stringify({ status, result }));
} finally {
  await tessera.close();
}
