// The part of an OpenAPI 3.1 document that the generators read.

export type Schema = boolean | Readonly<Record<string, unknown>>;

interface OpenApiParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header" | "cookie";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

interface OpenApiContent {
  readonly schema?: Schema;
}

export interface OpenApiBody {
  readonly required?: boolean;
  readonly description?: string;
  readonly content?: Readonly<Record<string, OpenApiContent>>;
}

interface OpenApiOperation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly (OpenApiParameter | { readonly $ref: string })[];
  readonly requestBody?: OpenApiBody;
  readonly responses: Readonly<Record<string, OpenApiBody | { readonly $ref: string }>>;
  readonly security?: readonly unknown[];
  readonly [extension: `x-${string}`]: unknown;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info?: { readonly title?: string; readonly description?: string; readonly version?: string };
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components?: {
    readonly schemas?: Readonly<Record<string, Schema>>;
    readonly parameters?: Readonly<Record<string, OpenApiParameter>>;
    readonly responses?: Readonly<Record<string, OpenApiBody>>;
  };
}

const METHODS = ["get", "post", "put", "patch", "delete"] as const;
type Method = (typeof METHODS)[number];

/** One operation with its parameters resolved. */
export interface FoundOperation {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly operation: OpenApiOperation;
  readonly parameters: readonly OpenApiParameter[];
  /** By status. */
  readonly answers: readonly (readonly [number, OpenApiBody])[];
}

/** Every operation, in the order of the document. */
export function operationsOf(document: OpenApiDocument): FoundOperation[] {
  const seen = new Set<string>();
  return Object.entries(document.paths).flatMap(([path, item]) => {
    const shared = (item.parameters ?? []) as NonNullable<OpenApiOperation["parameters"]>;
    return METHODS.flatMap((method) => {
      const operation = item[method] as OpenApiOperation | undefined;
      if (operation === undefined) return [];
      const id = operation.operationId;
      if (id === undefined || !/^[a-z][A-Za-z0-9]*$/.test(id) || seen.has(id)) {
        throw new Error(`${method.toUpperCase()} ${path} has no operationId of its own that can name a method`);
      }
      seen.add(id);
      const parameters = [...shared, ...(operation.parameters ?? [])].map((each) =>
        resolve(each, document.components?.parameters, "parameters"),
      );
      const answers = Object.entries(operation.responses)
        .filter(([status]) => /^[1-5]\d\d$/.test(status))
        .map(([status, body]) => [Number(status), resolve(body, document.components?.responses, "responses")] as const);
      return [{ id, method, path, operation, parameters, answers }];
    });
  });
}

function resolve<T>(
  value: T | { readonly $ref: string },
  known: Readonly<Record<string, T>> | undefined,
  kind: string,
): T {
  if (typeof value !== "object" || value === null || !("$ref" in value)) return value as T;
  const name = value.$ref.startsWith(`#/components/${kind}/`) ? value.$ref.split("/").at(-1) : undefined;
  const found = name === undefined ? undefined : known?.[name];
  if (found === undefined) throw new Error(`${value.$ref} is not among the components`);
  return found;
}
