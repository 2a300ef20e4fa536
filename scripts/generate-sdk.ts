import type { GeneratedFile } from './generated-file.ts';
import { writeExamples } from './sdk/examples.ts';
import { type ApiDocument, buildMethods, type Method } from './sdk/operations.ts';
import { writeComment, writeType } from './sdk/schema-types.ts';
import type { Service } from './services.ts';

const folder = 'packages/sdk/src/generated';
const head = '// GENERATED from the OpenAPI documents by: npm run generate\n';
/** Operations that no program calls through the SDK. */
const uncalledGroups = new Set(['health', 'metrics', 'healthz', 'readyz']);
/** A provider sends the browser there. */
const uncalledNames = new Set(['connections.finish']);

/** The SDK's types and its table of operations, from what the services declare, and its examples for the tests. */
export function writeSdk(root: string, services: readonly Service[]): GeneratedFile[] {
  return [...services.flatMap(filesOf), errorCodes(services), writeExamples(root)];
}

function filesOf({ name, describeApi }: Service): GeneratedFile[] {
  const document = describeApi() as ApiDocument;
  const schemas = Object.entries(document.components.schemas);
  const methods = buildMethods(document).filter(
    ({ group, name }) => !uncalledGroups.has(group) && !uncalledNames.has(`${group}.${name}`),
  );
  return [
    { path: `${folder}/${name}-types.ts`, text: typesFile(schemas) },
    {
      path: `${folder}/${name}-api.ts`,
      text: apiFile(
        name,
        methods,
        schemas.map(([type]) => type),
      ),
    },
    { path: `${folder}/${name}-operations.ts`, text: tableFile(name, methods) },
  ];
}

function typesFile(schemas: readonly [string, Parameters<typeof writeType>[0]][]): string {
  const types = schemas.map(
    ([name, schema]) => `${writeComment(schema.description)}export type ${name} = ${writeType(schema)};`,
  );
  return `${head}\n${types.join('\n\n')}\n`;
}

function apiFile(name: Service['name'], methods: readonly Method[], types: readonly string[]): string {
  const groups = [...Map.groupBy(methods, ({ group }) => group)];
  const interfaces = groups.map(
    ([group, inside]) =>
      `export interface ${typeNameOf(group)} {\n${inside.map(({ declaration }) => declaration).join('\n')}\n}`,
  );
  const text = interfaces.join('\n\n');
  const used = types.filter((type) => new RegExp(`\\b${type}\\b`).test(text));
  const runtime = ['CallOptions', 'Matched', 'Paged', 'RawAnswer', 'RawBody'].filter((type) =>
    text.includes(type),
  );
  const whole = `export interface ${name === 'identity' ? 'Identity' : 'Coordination'}Api {
${groups.map(([group]) => `readonly ${group}: ${typeNameOf(group)};`).join('\n')}
}`;
  return `${head}
import type { ${runtime.join(', ')} } from '../call.ts';
import type {
${used.join(',\n')}
} from './${name}-types.ts';

${text}

/** Every operation of ${name}, by its subject. */
${whole}
`;
}

function typeNameOf(group: string): string {
  return `${group.charAt(0).toUpperCase()}${group.slice(1)}Api`;
}

function tableFile(name: Service['name'], methods: readonly Method[]): string {
  return `${head}
/** One operation a line: its name, method, path, and flags (see call-table.ts). */
export const ${name}Operations = \`
${methods.map(({ row }) => row).join('\n')}
\`;
`;
}

function errorCodes(services: readonly Service[]): GeneratedFile {
  const codes = [...new Set(services.flatMap(({ errors }) => Object.keys(errors)))].sort();
  return {
    path: `${folder}/error-codes.ts`,
    text: `${head}
/** Every error code of the services; docs/errors.md explains when it occurs and what to do. */
export type ErrorCode =
${codes.map((code) => `  | '${code}'`).join('\n')};
`,
  };
}
