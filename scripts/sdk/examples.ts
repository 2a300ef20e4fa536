import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import type { GeneratedFile } from '../generated-file.ts';

/** The names that examples may use without a declaration: the members of the test's `ExampleWorld`. */
const given = ['url', 'token', 'baton', 'harness', 'lease', 'task', 'personId', 'folder'];

interface Example {
  /** Like `harness/lease.ts: checkpoint`. */
  readonly name: string;
  readonly lines: readonly string[];
}

/**
 * The examples of the SDK's doc comments as functions, which `npm run check` compiles and a test runs.
 * @throws Error for a public function without a doc comment or without an example in it
 */
export function writeExamples(root: string): GeneratedFile {
  const folder = join(root, 'packages/sdk/src');
  const paths = globSync('**/*.ts', { cwd: folder, exclude: ['generated/**', 'testing/**', '**/*.test.ts'] });
  const examples = paths.sort().flatMap((path) => examplesIn(path, readFileSync(join(folder, path), 'utf8')));
  const text = examples.map(({ lines }) => lines.join('\n')).join('\n');
  const imports = (module: string) => {
    const source = readFileSync(join(folder, module), 'utf8');
    const names = [...source.matchAll(/export (type )?\{([^}]*)\}/g)].flatMap(([, type = '', list = '']) =>
      list.split(',').map((name) => `${type}${name.trim()}`),
    );
    return names.filter((name) => /\w$/.test(name) && uses(text, name.replace('type ', ''))).sort();
  };
  return {
    path: 'e2e/generated/sdk-examples.ts',
    text: `// GENERATED from the doc comments of packages/sdk by: npm run generate

import { ${imports('index.ts').join(', ')} } from '@baton/sdk';
import { ${imports('node.ts').join(', ')} } from '@baton/sdk/node';
import type { ExampleWorld } from '../testing/sdk-example-world.ts';

/** The examples of the doc comments, by place. */
export const sdkExamples: Readonly<Record<string, (world: ExampleWorld) => Promise<void>>> = {
${examples.map(functionOf).join('\n')}
};
`,
  };
}

function functionOf({ name, lines }: Example): string {
  const text = lines.join('\n');
  const used = given.filter((word) => uses(text, word) && !declares(text, word));
  return `  '${name}': async (${used.length === 0 ? '' : `{ ${used.join(', ')} }`}) => {
${lines.map((line) => `    ${line}`).join('\n')}
  },`;
}

/** Whether a text declares a name: directly, by destructuring, or as a function's parameter. */
function declares(text: string, name: string): boolean {
  const forms = [`(const|using) ${name}\\b`, `const \\{[^}]*\\b${name}\\b[^}]*\\} =`, `\\(${name}\\) =>`];
  return new RegExp(forms.join('|')).test(text);
}

/** Whether a text contains a name, other than as a member or as a key. */
function uses(text: string, name: string): boolean {
  return new RegExp(`(?<![\\w.'])${name}\\b(?!:|')`).test(text);
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly accessibility?: string | null;
  readonly key?: { readonly type: string; readonly name?: string };
  readonly id?: { readonly name?: string } | null;
  readonly declaration?: Node | null;
  readonly declarations?: readonly { readonly id: { readonly name?: string }; readonly init: Node | null }[];
  readonly [member: string]: unknown;
}

function examplesIn(path: string, text: string): Example[] {
  const { program, comments } = parseSync(path, text);
  const docs = comments.filter(({ type, value }) => type === 'Block' && value.startsWith('*'));
  return publicIn(program as unknown as Node).flatMap(({ name, node, isRequired }) => {
    const doc = docs.find(({ end }) => end <= node.start && text.slice(end, node.start).trim() === '');
    if (doc?.value.includes('@internal')) return [];
    const lines = exampleIn(doc?.value ?? '');
    if (lines.length > 0) return [{ name: `${path}: ${name}`, lines }];
    if (isRequired) throw new Error(`packages/sdk/src/${path}: ${name} has no @example in its doc comment`);
    return [];
  });
}

/** Modules whose exported functions are called only by the SDK itself. */
const publicFunctions = new Set([
  'createClient',
  'etagOf',
  'newIdempotencyKey',
  'fetchTransport',
  'fileStore',
  'findAccess',
  'findConnection',
  'parseConnection',
]);
const publicClasses = new Set(['Harness', 'Lease', 'AccessToken']);
const publicInterfaces = new Set(['BatonClient', 'Api']);

/** The functions that a program can call, each with the node after its doc comment. */
function publicIn(program: Node) {
  const found: { name: string; node: Node; isRequired: boolean }[] = [];
  for (const statement of program['body'] as Node[]) {
    const { declaration } = statement;
    if (statement.type !== 'ExportNamedDeclaration' || !declaration) continue;
    const name = declaration.id?.name ?? declaration.declarations?.[0]?.id.name ?? '';
    if (/Function|Variable/.test(declaration.type))
      found.push({ name, node: statement, isRequired: publicFunctions.has(name) });
    if (publicClasses.has(name)) found.push(...membersOf(declaration, name, 'MethodDefinition'));
    if (publicInterfaces.has(name)) found.push(...membersOf(declaration, name, 'TSMethodSignature'));
  }
  return found;
}

function membersOf(node: Node, owner: string, kind: string): ReturnType<typeof publicIn> {
  const found: ReturnType<typeof publicIn> = [];
  const walk = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) return value.forEach(walk);
    const inside = value as Node;
    const { key, accessibility, type } = inside;
    // `[Symbol.asyncDispose]` and `#private` have no name of their own; the constructor of a harness is internal.
    const isPublic = key?.type === 'Identifier' && !inside['computed'] && accessibility !== 'private';
    const isConstructed = inside['kind'] === 'constructor' || inside['static'] === true;
    if (type === kind && isPublic && !isConstructed)
      found.push({ name: `${owner}.${key.name}`, node: inside, isRequired: true });
    else Object.values(inside).forEach(walk);
  };
  walk(node);
  return found;
}

/** The lines after `@example`, to the next tag. */
function exampleIn(comment: string): string[] {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\*? ?/, ''));
  const begin = lines.findIndex((line) => line.startsWith('@example'));
  if (begin < 0) return [];
  const rest = [(lines[begin] ?? '').slice('@example'.length).trim(), ...lines.slice(begin + 1)];
  const end = rest.findIndex((line) => line.startsWith('@'));
  return (end < 0 ? rest : rest.slice(0, end)).filter((line) => line.trim() !== '');
}
