import { type ASTNode, Environment, ParseError } from '@marcbachmann/cel-js';

/** Parses an expression, and limits its size and depth (docs/reference/processes.md#expressions). */

export type Node = ASTNode;

export const expressionCharactersMax = 4000;
const depthMax = 32;
const nestedMacrosMax = 3;

export type ExpressionProblemCode =
  | 'expression_syntax_error'
  | 'expression_type_error'
  | 'expression_too_complex'
  | 'unknown_calendar';

/** A problem in an expression's text. */
export class ExpressionProblem extends Error {
  readonly code: ExpressionProblemCode;

  constructor(code: ExpressionProblemCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * The number of expressions after which a parser is replaced, because it keeps the names of all functions that it has
 * parsed.
 */
const expressionsPerParser = 200;

let parser: Environment | undefined;
let expressionsLeft = 0;

function nextParser(): Environment {
  expressionsLeft -= 1;
  if (parser === undefined || expressionsLeft <= 0) {
    parser = newParser();
    expressionsLeft = expressionsPerParser;
  }
  return parser;
}

/**
 * Creates a parser. It registers a function so that it gets its own table of functions, which is freed with the parser
 * (decision 0220).
 */
function newParser(): Environment {
  return new Environment({
    enableOptionalTypes: true,
    limits: { maxAstNodes: expressionCharactersMax, maxDepth: 2 * depthMax },
  }).registerFunction('cpProfile(int): int', (given: bigint) => given);
}

/** @throws ExpressionProblem `expression_syntax_error`, `expression_too_complex` */
export function parseExpression(text: string): Node {
  if (text.length > expressionCharactersMax)
    throw tooComplex(`has ${text.length} characters; at most ${expressionCharactersMax} are allowed`);
  const node = parsed(text);
  boundForm(node);
  return node;
}

function parsed(text: string): Node {
  try {
    return nextParser().parse(text).ast;
  } catch (error) {
    if (error instanceof ParseError && error.code === 'limit_exceeded') throw tooComplex(error.summary);
    if (error instanceof ParseError) throw new ExpressionProblem('expression_syntax_error', located(error));
    // The parser's stack overflowed, for example because of thousands of consecutive signs.
    if (error instanceof RangeError) throw tooComplex('is nested too deeply');
    throw error;
  }
}

const messageCharactersMax = 200;

function located({ summary, range }: ParseError): string {
  const message = range === undefined ? summary : `${summary} (at character ${range.start + 1})`;
  return message.slice(0, messageCharactersMax).toWellFormed();
}

function tooComplex(message: string): ExpressionProblem {
  return new ExpressionProblem('expression_too_complex', message);
}

const iterating: Readonly<Record<string, readonly number[]>> = {
  all: [2],
  exists: [2],
  exists_one: [2],
  existsOne: [2],
  map: [2, 3],
  filter: [2],
};

/** Whether a member call iterates over a list. */
export function isIterating(name: string, argumentsCount: number): boolean {
  return iterating[name]?.includes(argumentsCount) ?? false;
}

interface Level {
  readonly node: Node;
  readonly depth: number;
  readonly macros: number;
}

/** Measures the tree without recursion, because 2,000 consecutive additions are a tree of depth 2,000. */
function boundForm(root: Node): void {
  const waiting: Level[] = [{ node: root, depth: 1, macros: 0 }];
  for (let level = waiting.pop(); level !== undefined; level = waiting.pop()) {
    const { node, depth } = level;
    if (depth > depthMax) throw tooComplex(`is a tree of more than ${depthMax} levels`);
    for (const { child, isBody } of childrenOf(node)) {
      const macros = level.macros + Number(isBody);
      if (macros > nestedMacrosMax) throw tooComplex(`has more than ${nestedMacrosMax} nested macros`);
      waiting.push({ node: child, depth: depth + 1, macros });
    }
  }
}

interface Child {
  readonly child: Node;
  /** Whether the expression is evaluated for each item of a list. */
  readonly isBody: boolean;
}

const plain = (child: Node): Child => ({ child, isBody: false });

function childrenOf(node: Node): Child[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return [];
    case '.':
    case '.?':
      return [plain(node.args[0])];
    case '!_':
    case '-_':
      return [plain(node.args)];
    case 'call':
      return node.args[1].map(plain);
    case 'rcall': {
      const [name, receiver, args] = node.args;
      const isBody = isIterating(name, args.length);
      return [plain(receiver), ...args.map((child) => ({ child, isBody }))];
    }
    case 'map':
      return node.args.flat().map(plain);
    default:
      return node.args.map(plain);
  }
}
