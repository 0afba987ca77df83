// @tessera/tessera/client: the HTTP API as typed methods. Also a package of its own, which needs no store: @tessera/client.

export * from "@tessera/client";
