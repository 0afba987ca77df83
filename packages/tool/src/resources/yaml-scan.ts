// The scan: YAML text to syntax tokens, with every limit held before anything recurses over them.
//
//   S1. The library's lexer and parser keep their own stack, its composer recurses. So the stack is watched while the
//       parser fills it, and a text that is too deep is refused at the character that goes too far.
//   S2. Documents and aliases are counted here too: a file of 100,000 documents costs as much as its first 101.

import { CST, Lexer, Parser } from "yaml";

export interface ScanLimits {
  readonly depthMax: number;
  readonly documentsMax: number;
  readonly aliasesMax: number;
}

export type Scan =
  | { readonly kind: "tokens"; readonly tokens: readonly CST.Token[] }
  | { readonly kind: "too_deep" | "too_many_documents" | "too_many_aliases"; readonly offset: number };

export function scanYaml(text: string, limits: ScanLimits): Scan {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  // The document itself and the scalar being read stand on the stack beside the collections. The JSON gate holds the
  // exact limit; this one only keeps the composer's recursion short.
  const stackMax = limits.depthMax + 2;
  let document: CST.Token | undefined;
  let documents = 0;
  let aliases = 0;
  let isScalarText = false;

  for (const lexeme of new Lexer().lex(text)) {
    const start = parser.offset;
    // After its marker comes a scalar's text, which may look like anything.
    const type: CST.TokenType | null = isScalarText ? null : CST.tokenType(lexeme);
    isScalarText = type === "scalar";
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (parser.stack.length > stackMax) return { kind: "too_deep", offset: start }; // S1
    if (type === "alias" && ++aliases > limits.aliasesMax) return { kind: "too_many_aliases", offset: start }; // S2
    const bottom = parser.stack[0];
    if (bottom?.type === "document" && bottom !== document) {
      document = bottom;
      if (++documents > limits.documentsMax) return { kind: "too_many_documents", offset: bottom.offset }; // S2
    }
  }
  for (const token of parser.end()) tokens.push(token);
  return { kind: "tokens", tokens };
}
