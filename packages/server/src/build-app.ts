// The HTTP application: the table of routes, and what happens to a request around them.
//
//   B1. Order: the wire (headers, Host, Origin) → address → route → key, ids, project, role, rate → body → handler. Every step
//       may end it, and every end is problem JSON with a request id.
//   B2. A route without roles cannot be registered (R1 in route-spec.ts).
//   B3. Nothing but the route's own kind of body is read; without a parser for its type the answer is 415 and says which types
//       the route reads.
//   B4. A stream is pulled as fast as its reader reads, and no faster; it ends with its connection. So is a large answer, in pieces,
//       so that it can be seen to move (C1 in connections.ts).
//   B5. What a request may keep in memory is taken before its body is read (bytes-in-flight.ts).

import { Readable } from "node:stream";
import type { Clock, Ids } from "@tessera/kernel";
import { NotFound, parseJson, TesseraError } from "@tessera/protocol";
import { errorCodes, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import type { Access } from "./access/access.ts";
import { ANSWER_BYTES, type BytesInFlight, createBytesInFlight, type HeldBytes } from "./http/bytes-in-flight.ts";
import { type ClientAddresses, createClientAddresses } from "./http/client-address.ts";
import { answerClientError } from "./http/client-error.ts";
import { type Exchange, watchConnections } from "./http/connections.ts";
import { corsHeaders, preflightHeaders } from "./http/cors.ts";
import type { HostGuard } from "./http/host-guard.ts";
import type { ServerLimits } from "./http/server-limits.ts";
import { FORM_TYPE, readForm, UPLOAD_BODY_BYTES_MAX, type Upload, YAML_TYPES } from "./http/upload.ts";
import { checkBodyHeaders, checkSingleHeaders, endAfterAnswer, isUnread } from "./http/wire-guard.ts";
import { describeFault, HttpRefusal, PROBLEM_TYPE, problemOf } from "./routing/problem.ts";
import { type ApiRequest, methodsOf, type RouteSpec, routerPath } from "./routing/route-spec.ts";

const JSON_TYPE = "application/json";
/** B4 */
const PIECE_BYTES = 64 * 1024;

export interface AppDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly routes: readonly RouteSpec[];
  readonly access: Access;
  readonly hosts: HostGuard;
  readonly limits: ServerLimits;
  /** Default: the address of the connection. */
  readonly addresses?: ClientAddresses;
  /** Default: made from the limits. */
  readonly bytes?: BytesInFlight;
  /** Aborted when the server is closing: waiting handlers answer at once, new requests are sent elsewhere. */
  readonly closing: AbortSignal;
  readonly onWarning: (warning: string) => void;
}

declare module "fastify" {
  interface FastifyContextConfig {
    spec?: RouteSpec;
  }
  interface FastifyRequest {
    identity: ApiRequest["key"] | null;
    address: string;
    exchange: Exchange | null;
    heldBytes: HeldBytes | null;
  }
}

export function buildApp(world: AppDeps): FastifyInstance {
  const { clock, ids, limits, hosts, access, closing, onWarning, addresses = createClientAddresses() } = world;
  const bytes = world.bytes ?? createBytesInFlight(clock, limits);
  const app = fastify({
    genReqId: () => ids.mint("req"),
    requestIdHeader: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    bodyLimit: limits.bodyBytesMax,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    http: {
      maxHeaderSize: limits.headersBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: limits.timeoutCheckMs,
      // Node would answer without a body; the guard of names refuses it as a problem (B1).
      requireHostHeader: false,
    },
    // A longer parameter than an id is refused as an id, not as a path that does not exist.
    routerOptions: { maxParamLength: limits.headersBytesMax },
    frameworkErrors: (error, request, reply) => void sendProblem(error, request, reply),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, ids.mint("req")),
  });
  app.server.maxConnections = limits.connectionsMax;
  const connections = watchConnections(app.server, { clock, addresses, limits });
  app.addHook("preClose", async () => connections.close()); // before the server waits for its connections
  // Node would answer an Expect that it does not know with an empty 417. It may be passed over (RFC 9110, 10.1.1).
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  app.removeAllContentTypeParsers();
  app.decorateRequest("identity", null);
  app.decorateRequest("address", "");
  app.decorateRequest("exchange", null);
  app.decorateRequest("heldBytes", null);

  function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const problem = problemOf(isUnreadType(error) ? unreadType(request) : error, request.id);
    if (problem.status >= 500) {
      const route = request.routeOptions?.url ?? "no route";
      onWarning(`request ${request.id} (${request.method} ${route}) failed: ${describeFault(error)}`);
    }
    // Said here too: a path that cannot be decoded is answered without passing the hooks.
    reply.header("x-request-id", request.id);
    return reply.code(problem.status).headers(problem.headers).type(PROBLEM_TYPE).send(problem.body);
  }

  app.addHook("onRequest", async (request, reply) => {
    const spec = request.routeOptions.config?.spec;
    const isAboutHealth = spec?.tag === "health";
    const exchange = connections.exchange(request.raw, reply.raw);
    request.exchange = exchange;
    request.address = addresses.of(request.raw);
    if (closing.aborted && !isAboutHealth) throw new TesseraError("shutting_down", "this server is stopping");
    exchange.checkPipelined();
    checkSingleHeaders(request.raw);
    hosts.check({ host: request.headers.host, origin: request.headers.origin });
    reply.headers(corsHeaders(request.headers));
    access.admitAddress(request.address);
    if (spec === undefined) return; // no route: the not-found handler answers
    const authorization = request.headers.authorization ?? null;
    const params = request.params as Readonly<Record<string, string>>;
    const key = await access.admit(spec, { authorization, address: request.address, params });
    request.identity = key;
    if (spec.roles !== "anyone") exchange.isKnown();
    const bodyBytesMax = spec.body === "upload" ? UPLOAD_BODY_BYTES_MAX : limits.bodyBytesMax;
    checkBodyHeaders(request.headers, bodyBytesMax);
    const holder = {
      key: spec.roles === "anyone" ? unauthenticatedAt(request.address) : key,
      address: request.address,
    };
    const held = await bytes.take(
      holder,
      bodyBytesOf(request.headers, bodyBytesMax) + (spec.answerBytes ?? ANSWER_BYTES),
    ); // B5
    request.heldBytes = held;
    exchange.onEnd(held.release);
  });
  app.addHook("onSend", async (request, reply, payload) => {
    reply.header("x-request-id", request.id);
    reply.header("cache-control", "no-store");
    reply.header("x-content-type-options", "nosniff");
    const isEarly = isUnread(request.raw);
    if (closing.aborted || isEarly) reply.header("connection", "close");
    if (isEarly) endAfterAnswer(request.raw, clock);
    if (typeof payload !== "string" && !(payload instanceof Uint8Array)) return payload; // nothing, or a stream
    const size = Buffer.byteLength(payload);
    holdAnswer(request, reply, size);
    if (size <= PIECE_BYTES) return payload;
    reply.header("content-length", size);
    return Readable.from(piecesOf(Buffer.from(payload as Buffer)), { objectMode: false });
  });
  app.addHook("onRoute", ({ method, url, config }) => {
    const roles = config?.spec?.roles;
    if (roles === undefined || roles.length === 0) throw new Error(`${method} ${url} does not say who may use it`); // B2
  });
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const methods = methodsOf(world.routes, request.url.split("?")[0] ?? "");
    const preflight = preflightHeaders(request.method, request.headers, methods);
    if (preflight !== null) return reply.code(204).headers(preflight).send();
    return sendProblem(notThere(methods), request, reply);
  });

  /** Nobody has a body: routes without a key read none. */
  const admitBody = ({ identity }: FastifyRequest, { byteLength }: Buffer) => {
    if (identity !== null) access.admitBody(identity, byteLength);
  };
  app.register(async (scope) => {
    scope.addContentTypeParser(JSON_TYPE, { parseAs: "buffer" }, async (request: FastifyRequest, body: Buffer) => {
      if (body.byteLength === 0) return undefined;
      admitBody(request, body);
      const depthMax = request.routeOptions.config.spec?.jsonDepthMax;
      return parseJson(body, { bytesMax: limits.bodyBytesMax, depthMax });
    });
    for (const spec of world.routes) if (spec.body !== "upload") register(scope, spec, world);
  });
  app.register(async (scope) => {
    const asBuffer = { parseAs: "buffer", bodyLimit: UPLOAD_BODY_BYTES_MAX } as const;
    scope.addContentTypeParser(
      [...YAML_TYPES],
      asBuffer,
      async (request: FastifyRequest, bytes: Buffer): Promise<Upload> => {
        admitBody(request, bytes);
        return { bytes };
      },
    );
    scope.addContentTypeParser(FORM_TYPE, asBuffer, async (request: FastifyRequest, body: Buffer) => {
      admitBody(request, body);
      return readForm(body, request.headers["content-type"] ?? "");
    });
    for (const spec of world.routes) if (spec.body === "upload") register(scope, spec, world);
  });
  return app;
}

function register(app: FastifyInstance, spec: RouteSpec, { closing }: AppDeps): void {
  const allowed = new Set(Object.keys(spec.query ?? {}));
  app.route({
    method: spec.method,
    url: routerPath(spec.path),
    config: { spec },
    ...(spec.body === "upload" ? { bodyLimit: UPLOAD_BODY_BYTES_MAX } : {}),
    async handler(request, reply) {
      const answer = await spec.handle(apiRequest(request, reply, allowed, closing));
      reply.code(answer.status).headers(answer.headers ?? {});
      if (spec.answerType !== undefined) reply.type(`${spec.answerType}; charset=utf-8`);
      if (answer.stream === undefined) return reply.send(answer.body);
      // B4. Closed with the stream: an idle connection that is left behind would hold up the close of the server.
      return reply.header("connection", "close").send(Readable.from(answer.stream, { objectMode: false }));
    },
  });
}

function apiRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  allowed: ReadonlySet<string>,
  closing: AbortSignal,
): ApiRequest {
  const params = request.params as Readonly<Record<string, string>>;
  if (request.identity === null) throw new Error("a handler was reached without admission");
  return {
    id: request.id,
    key: request.identity,
    address: request.address,
    param: (name) => params[name] ?? "",
    query: queryOf(request.query, allowed),
    header(name) {
      const value = request.headers[name.toLowerCase()];
      return typeof value === "string" && value !== "" ? value : null;
    },
    body: request.body,
    stopped: () => AbortSignal.any([closing, goneSignal(request, reply)]),
  };
}

function queryOf(raw: unknown, allowed: ReadonlySet<string>): Readonly<Record<string, string>> {
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw as Readonly<Record<string, unknown>>)) {
    if (!allowed.has(name) || typeof value !== "string") {
      const why = allowed.has(name) ? "was given more than once" : "is not known here";
      throw new HttpRefusal("bad_request", `query parameter ${JSON.stringify(name.slice(0, 64))} ${why}`);
    }
    query[name] = value;
  }
  return query;
}

/** Aborted when the connection ends before the answer does. */
function goneSignal({ exchange }: FastifyRequest, { raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (raw.socket?.writableEnded === true) gone.abort();
  exchange?.onEnd(() => {
    if (!raw.writableEnded) gone.abort();
  });
  return gone.signal;
}

/** Each piece is asked for when the one before was taken (B4). */
function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.byteLength; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
}

/** B5. What only reads may still be refused when its size is known: nothing was changed for it. */
function holdAnswer({ heldBytes, routeOptions }: FastifyRequest, { statusCode }: FastifyReply, bytes: number): void {
  const roles = routeOptions.config?.spec?.roles ?? [];
  if (statusCode < 400 && roles.includes("viewer")) heldBytes?.becomeWithin(bytes);
  else heldBytes?.become(bytes);
}

/** What a body may have, before it is read: its own word, or without one the limit. */
function bodyBytesOf(headers: FastifyRequest["headers"], bytesMax: number): number {
  if (headers["transfer-encoding"] !== undefined) return bytesMax;
  return Number(headers["content-length"] ?? 0);
}

/** Without a key, the address stands for the client. */
const unauthenticatedAt = (address: string) => ({ key_id: `nobody/${address}`, project_id: null });

function isUnreadType(error: unknown): boolean {
  return error instanceof errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE;
}

/** B3 */
function unreadType(request: FastifyRequest): HttpRefusal {
  const isUpload = request.routeOptions.config?.spec?.body === "upload";
  const types = isUpload ? [...YAML_TYPES, FORM_TYPE] : [JSON_TYPE];
  return new HttpRefusal("unsupported_media_type", `send the body with the Content-Type ${types.join(" or ")}`, {
    headers: { accept: types.join(", ") },
    details: { field: "Content-Type", accepted: types },
  });
}

function notThere(methods: readonly string[]): TesseraError {
  if (methods.length === 0) return new NotFound("there is no such path", { details: { field: "path" } });
  return new HttpRefusal("method_not_allowed", `Allowed methods: ${methods.join(", ")}`, {
    headers: { allow: methods.join(", ") },
  });
}
