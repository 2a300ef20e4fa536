import { measureDocument } from '@baton/values/document-size';
import { nodesOf, roundedIntegerIn } from '@baton/values/json';
import { patternSize, patternSizesMax } from '@baton/values/json-schema/patterns';
import { prepareSchema } from '@baton/values/json-schema/schema';
import { SchemaDefect } from '@baton/values/json-schema/schema-tree';
import type { JsonObject } from '@baton/values/wire';
import { ProcessSpec } from './definition.ts';
import { elementsOf } from './elements.ts';
import { isObject } from './expressions/types.ts';
import { textCharactersMax } from './forms.ts';
import { type ProcessProblem, pointer, problem, shapeProblemsMax } from './problems.ts';
import { readYaml, textDepthMax, textNodesMax, yamlCharactersMax } from './yaml.ts';

/** Parses a definition and validates it against its schema (docs/reference/processes.md#problems). */

/** The maximum size of a definition as compact JSON in UTF-8; a decision table of 500 rules fits. */
export const specBytesMax = 262_144;
const specNodesMax = textNodesMax;
const specDepthMax = textDepthMax;
/** The limit for the total size of the JSON Schemas in a definition, the same as for every schema. */
const schemaBounds = { bytes: 65_536, depth: 20, nodes: 5_000 };

export type ReadDefinition =
  | { readonly spec: ProcessSpec; readonly problems: readonly ProcessProblem[] }
  | { readonly spec: undefined; readonly problems: readonly ProcessProblem[] };

/**
 * @param sent an object, or YAML 1.2 text @returns the definition with its defaults if it matches the schema, otherwise
 * the problems: `invalid_yaml`, `invalid_document`, `unresolved_install_variable`, `schema_violation`,
 * `unresolved_data_ref`. Yields so that other work can run.
 */
export function* readDefinition(sent: unknown): Generator<void, ReadDefinition> {
  const read = typeof sent === 'string' ? fromYaml(sent) : fromJson(sent);
  if ('code' in read) return failed(read);
  yield;
  const { document } = read;
  const bound = boundProblem(document);
  if (bound !== undefined) return failed(bound);
  const found: ProcessProblem[] = [];
  for (const { value, path } of nodesOf(document)) {
    if (typeof value !== 'string') continue;
    if (value.length > textCharactersMax)
      found.push(problem('schema_violation', path, `is longer than ${textCharactersMax} characters`));
    const [variable] = /\$\{[A-Za-z_][\w.-]{0,100}\}/.exec(value) ?? [];
    if (variable !== undefined)
      found.push(problem('unresolved_install_variable', path, `${variable} was not replaced`));
  }
  yield;
  const parsed = ProcessSpec.safeParse(document);
  yield;
  if (!parsed.success)
    return { spec: undefined, problems: [...found, ...shapeProblems(parsed.error.issues)] };
  const spec = parsed.data;
  found.push(...(yield* checkingSchemas(spec)));
  return { spec, problems: found };
}

function failed(one: ProcessProblem): ReadDefinition {
  return { spec: undefined, problems: [one] };
}

/** The details of the refusal if the document is too large; otherwise undefined. */
export function sizeFault(sent: unknown): { maxBytes: number; actualBytes: number } | undefined {
  const text = typeof sent === 'string' ? sent : JSON.stringify(sent ?? null);
  const actualBytes = Buffer.byteLength(text);
  const maxBytes = typeof sent === 'string' ? yamlCharactersMax : specBytesMax;
  return actualBytes > maxBytes ? { maxBytes, actualBytes } : undefined;
}

function fromYaml(text: string): { document: JsonObject } | ProcessProblem {
  const read = readYaml(text);
  return 'code' in read ? read : fromJson(read.value);
}

function fromJson(value: unknown): { document: JsonObject } | ProcessProblem {
  if (!isObject(value)) return problem('invalid_document', '', 'must be an object');
  const rounded = roundedIntegerIn(value);
  return rounded === undefined
    ? { document: value }
    : problem('invalid_document', rounded, 'is an integer that a double can not represent exactly');
}

function boundProblem(document: JsonObject): ProcessProblem | undefined {
  const { depth, nodes } = measureDocument(document);
  if (depth > specDepthMax)
    return problem('schema_violation', '', `is nested deeper than ${specDepthMax} levels`);
  if (nodes > specNodesMax) return problem('schema_violation', '', `has more than ${specNodesMax} values`);
  return undefined;
}

type Issues = readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];

function shapeProblems(issues: Issues): ProcessProblem[] {
  return issues
    .slice(0, shapeProblemsMax)
    .map(({ path, message }) => problem('schema_violation', pointer(...path.map(String)), message));
}

/** The JSON Schemas of a definition: of its data, and of the forms of human steps. */
function* checkingSchemas(spec: ProcessSpec): Generator<void, ProcessProblem[]> {
  const schemas = [
    { schema: spec.data, path: '/data' },
    ...[...elementsOf(spec)].flatMap(({ step, path }) =>
      step?.human?.form === undefined ? [] : [{ schema: step.human.form, path: `${path}/human/form` }],
    ),
  ];
  const found: ProcessProblem[] = [];
  let patterns = 0;
  for (const { schema, path } of schemas) {
    patterns += patternsIn(schema);
    // Limited for all schemas together, because each pattern takes 20 µs to compile, whichever schema contains it.
    const fault =
      patterns > patternSizesMax
        ? problem('schema_violation', path, 'all patterns together are too large')
        : schemaProblem(schema, path);
    if (fault !== undefined) found.push(fault);
    if (patterns > patternSizesMax || found.length >= shapeProblemsMax) break;
    yield;
  }
  return found;
}

function patternsIn(schema: JsonObject): number {
  let size = 0;
  for (const { key, value } of nodesOf(schema)) {
    if (key === 'pattern' && typeof value === 'string') size += patternSize(value);
    if (key === 'patternProperties' && isObject(value))
      for (const pattern of Object.keys(value)) size += patternSize(pattern);
  }
  return size;
}

function schemaProblem(schema: JsonObject, path: string): ProcessProblem | undefined {
  const { bytes, depth, nodes } = measureDocument(schema);
  if (bytes > schemaBounds.bytes || depth > schemaBounds.depth || nodes > schemaBounds.nodes)
    return problem('schema_violation', path, 'is too large for a JSON Schema');
  if (schema['type'] !== 'object' && schema['properties'] === undefined && schema['$ref'] === undefined)
    return problem('schema_violation', path, 'must describe an object');
  try {
    prepareSchema(schema);
  } catch (error) {
    if (!(error instanceof SchemaDefect)) throw error;
    const code = error.ref === undefined ? 'schema_violation' : 'unresolved_data_ref';
    return problem(code, path + error.path, error.message);
  }
  return undefined;
}
