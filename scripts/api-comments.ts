// The doc comments of what people import: which names have none, and the examples in them.
//
//   A1. Every name that a published entry point exports has a comment where it is declared, and so has every field and method of what
//       it names, also what it inherits: editors show nothing else. Of overloads and of the members of a union one is enough.
//   A2. A comment stands on its own. The marks of our sources (a rule in the header of a file, a paragraph of the design) mean nothing
//       to a person who has the package.
//   A3. Of the parts that `/runtime` exports for programs that put a process together, the names are told here; what they take, the
//       sources tell.
//   A4. A field whose type is one word (`kind: "function"`) says what it is by itself. A union whose members stand in one line each is
//       told by its own comment. Fields of generated types are told by the OpenAPI document, and those that are spelled as on the
//       wire (`tool_call_id`, in records that tools and executors share) by the protocol's schemas.

import { join, relative } from "node:path";
import type { Node } from "typescript/unstable/ast";
import {
  isIntersectionTypeNode,
  isLiteralTypeNode,
  isParenthesizedTypeNode,
  isPropertyDeclaration,
  isPropertySignatureDeclaration,
  isTypeAliasDeclaration,
  isTypeLiteralNode,
  isUnionTypeNode,
  isVariableDeclaration,
} from "typescript/unstable/ast/is";
import { API, type Project, SymbolFlags, type Symbol as TypeScriptSymbol } from "typescript/unstable/sync";

const ROOT = join(import.meta.dirname, "..");

/** What is published, by the files that it is made of (scripts/release/packages.ts). */
const ENTRY_POINTS = [
  ...["index", "agent", "client", "runtime", "testing", "tool", "wire"].map(
    (name) => `packages/tessera/src/${name}.ts`,
  ),
  "packages/tool/src/index.ts",
  "packages/client/src/index.ts",
];
/** A3 */
const NAMES_ONLY: ReadonlySet<string> = new Set(["packages/tessera/src/runtime.ts"]);
const WIRE_NAME = /^[a-z]+(?:_[a-z]+)+$/;
const GENERATED = /\.gen\.ts$/;
const MARK = /\([A-Z]\d{1,2}(?:, [A-Z]\d{1,2})*\)|^[A-Z]\d{1,2}\b|\b(?:design|reference|faults) (?:§|[A-Z]\d)/m;

export interface ApiComment {
  /** `Tessera.run`, at the place where it is declared. */
  readonly name: string;
  readonly at: string;
  /** As it is written; null: there is none. */
  readonly text: string | null;
}

/** Every exported name of some entry points with its comment, and every field and method of it (A1). */
export function apiComments(entryPoints: readonly string[] = ENTRY_POINTS, config = "tsconfig.json"): ApiComment[] {
  const api = new API({ cwd: ROOT });
  try {
    const snapshot = api.updateSnapshot({ openProjects: [join(ROOT, config)] });
    const [project] = snapshot.getProjects();
    if (project === undefined) throw new Error(`${config} is no project`);
    const found = new Map<string, ApiComment>();
    for (const entry of entryPoints) {
      for (const comment of ofEntryPoint(project, entry)) found.set(`${comment.at} ${comment.name}`, comment);
    }
    return [...found.values()];
  } finally {
    api.close();
  }
}

/** What is wrong with a comment; null: nothing. */
export function mistakeOf({ name, at, text }: ApiComment): string | null {
  if (text === null) return `${at} ${name} has no doc comment`;
  const mark = MARK.exec(text.replaceAll(/^\s*(?:\/\*\*|\*(?!\/))\s?/gm, ""))?.[0];
  return mark === undefined ? null : `${at} ${name}: ${mark} means nothing outside of our sources`; // A2
}

/** The blocks marked `ts` in comments. */
export function examplesOf(comments: readonly ApiComment[]): { readonly name: string; readonly code: string }[] {
  return comments.flatMap(({ name, text }) => {
    const plain = (text ?? "").replaceAll(/^\s*\* ?/gm, "");
    return [...plain.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => ({ name, code }));
  });
}

function ofEntryPoint(project: Project, entry: string): ApiComment[] {
  const { checker, program } = project;
  const source = program.getSourceFile(join(ROOT, entry));
  const module = source === undefined ? undefined : checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error(`${entry} is no module of the project`);
  return checker.getExportsOfModule(module).flatMap((exported) => {
    const symbol = (exported.flags & SymbolFlags.Alias) === 0 ? exported : checker.getAliasedSymbol(exported);
    const own = commentOf(project, exported.name, symbol);
    return own === null ? [] : [own, ...(NAMES_ONLY.has(entry) ? [] : membersOf(project, exported.name, symbol))];
  });
}

/** Null: it is declared elsewhere, or needs none (A4). */
function commentOf(project: Project, name: string, symbol: TypeScriptSymbol): ApiComment | null {
  const nodes = symbol.declarations.flatMap((handle) => handle.resolve(project) ?? []);
  const [first] = nodes;
  if (first === undefined || !isOurs(first)) return null;
  if (nodes.every(saysItself)) return null;
  return { name, at: placeOf(first), text: nodes.map(textOf).find((text) => text !== null) ?? null };
}

function membersOf(project: Project, name: string, symbol: TypeScriptSymbol): ApiComment[] {
  const { checker } = project;
  const nodes = symbol.declarations.flatMap((handle) => handle.resolve(project) ?? []);
  if (nodes.some((node) => GENERATED.test(node.getSourceFile().fileName))) return []; // A4
  if ((symbol.flags & (SymbolFlags.Interface | SymbolFlags.Class)) !== 0) {
    const members = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol));
    const statics = (symbol.flags & SymbolFlags.Class) === 0 ? [] : [...symbol.getExports().values()];
    return [...members, ...statics].flatMap((member) =>
      /^(?:__|prototype$)/.test(member.name) ? [] : (commentOf(project, `${name}.${member.name}`, member) ?? []),
    );
  }
  return nodes.flatMap((node) => (isTypeAliasDeclaration(node) ? ofLiterals(name, node.type) : []));
}

/** The fields of the object types that an alias is written of. */
function ofLiterals(owner: string, type: Node): ApiComment[] {
  const found = new Map<string, ApiComment>();
  for (const member of literalsOf(type)) {
    if (!isPropertySignatureDeclaration(member) || saysItself(member)) continue;
    const name = `${owner}.${member.name.getText()}`;
    const text = textOf(member) ?? found.get(name)?.text ?? null;
    found.set(name, { name, at: found.get(name)?.at ?? placeOf(member), text });
  }
  return [...found.values()];
}

function literalsOf(type: Node): readonly Node[] {
  if (isParenthesizedTypeNode(type)) return literalsOf(type.type);
  if (isUnionTypeNode(type) || isIntersectionTypeNode(type)) return type.types.flatMap((each) => literalsOf(each));
  return isTypeLiteralNode(type) && type.getText().includes("\n") ? [...type.members] : [];
}

/** A4 */
function saysItself(node: Node): boolean {
  if (isPropertyDeclaration(node)) return /\boverride\b/.test(node.getText());
  if (isPropertySignatureDeclaration(node) && WIRE_NAME.test(node.name.getText())) return true;
  if (!isPropertySignatureDeclaration(node) || node.type === undefined) return false;
  const words = isUnionTypeNode(node.type) ? node.type.types : [node.type];
  return words.every((word) => isLiteralTypeNode(word)) && textOf(node) === null && words.length === 1;
}

function textOf(node: Node): string | null {
  const holder = isVariableDeclaration(node) ? (node.parent?.parent ?? node) : node;
  const comment = (holder as { readonly jsDoc?: readonly Node[] }).jsDoc?.at(-1);
  return comment === undefined ? null : node.getSourceFile().text.slice(comment.pos, comment.end);
}

function placeOf(node: Node): string {
  const { fileName, text } = node.getSourceFile();
  const line = text.slice(0, node.getStart()).split("\n").length;
  return `${relative(ROOT, fileName)}:${line}`;
}

function isOurs(node: Node): boolean {
  const path = relative(ROOT, node.getSourceFile().fileName);
  return !path.startsWith("..") && !path.includes("node_modules");
}
