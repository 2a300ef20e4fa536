import type { Json, JsonObject } from '../wire.ts';
import { applicators } from './applicators.ts';
import { type CheckMaker, type KeywordParts, valueChecks } from './checks.ts';
import {
  type Check,
  Evaluation,
  type Resource,
  type SchemaFault,
  type Subschema,
  TooCostly,
} from './evaluation.ts';
import { assertFormat } from './formats.ts';
import { readSchema, type SchemaTree } from './schema-tree.ts';

/**
 * JSON Schema 2020-12 for schemas from tenants (docs/reference/README.md#documents). The schemas are interpreted, never
 * turned into code; formats only annotate, as in the draft, unless they are asserted. The cost of a schema is limited
 * twice: when it is parsed (size, references, patterns), and in steps whenever it is applied.
 */
export interface PreparedSchema {
  /** The faults in an instance, at most 20; empty if it is valid. Takes at most 25 ms on a quiet machine. */
  faultsOf(instance: Json): SchemaFault[];
  /** The number of steps that an evaluation of the instance takes, for comparing the costs of schemas. */
  stepsFor(instance: Json): number;
}

/**
 * Parses a schema once, so that instances can be validated against it.
 * @param document within the limits of a document (`checkDocument`)
 * @param options.formats whether strings must have the formats in the schema
 * @throws SchemaDefect if it isn't a valid schema of the draft, refers to other documents, or is too costly to apply
 */
export function prepareSchema(
  document: Json,
  { formats = 'annotate' }: { formats?: 'annotate' | 'assert' } = {},
): PreparedSchema {
  const tree = readSchema(document);
  const makers = formats === 'assert' ? assertingMakers : annotatingMakers;
  for (const subschema of tree.subschemas.values()) build(tree, subschema, makers);
  const root = tree.subschemas.get('') as Subschema;
  return {
    faultsOf: (instance) => evaluate(root, instance).faults,
    stepsFor: (instance) => evaluate(root, instance).spent,
  };
}

function evaluate(root: Subschema, instance: Json): Evaluation {
  const run = new Evaluation();
  try {
    run.fits(root, instance, undefined, undefined);
  } catch (error) {
    if (!(error instanceof TooCostly)) throw error;
    // Replaces the faults found so far by this one: an instance whose validation was stopped is not valid.
    run.faults.splice(0, run.faults.length, { path: '', message: 'takes too many steps to validate' });
  }
  return run;
}

type Makers = ReadonlyMap<string, CheckMaker>;
const annotatingMakers: Makers = new Map([...Object.entries(valueChecks), ...Object.entries(applicators)]);
const assertingMakers: Makers = new Map([['format', assertFormat], ...annotatingMakers]);
const order = [...assertingMakers.keys()];

/** Creates the checks of one schema. Checks that depend on evaluated members are last. */
function build(tree: SchemaTree, subschema: Subschema, makers: Makers): void {
  const schema = tree.documents.get(subschema) as JsonObject | boolean;
  if (typeof schema === 'boolean') {
    subschema.checks = schema ? [] : [(_, at, run) => run.fault(at, 'is not allowed')];
    return;
  }
  const keywords = Object.keys(schema).filter((name) => makers.has(name));
  keywords.sort((left, right) => order.indexOf(left) - order.indexOf(right));
  subschema.checks = keywords.flatMap((name) => checkOf(tree, subschema, schema, name, makers) ?? []);
  subschema.tracks = keywords.some((name) => name.startsWith('unevaluated'));
}

function checkOf(
  tree: SchemaTree,
  subschema: Subschema,
  schema: JsonObject,
  name: string,
  makers: Makers,
): Check | undefined {
  const parts: KeywordParts = {
    value: schema[name] as Json,
    schema,
    inside: (pointer) => tree.subschemas.get(subschema.pointer + pointer) as Subschema,
    pattern: (text) => tree.patterns.get(text) as never,
    reference: (isDynamic) => referenceOf(tree, subschema, schema[name] as string, isDynamic),
  };
  return (makers.get(name) as CheckMaker)(parts);
}

/**
 * A dynamic reference to a dynamic anchor resolves to the anchor with that name in the outermost resource, on the path
 * of the evaluation, that has such an anchor.
 */
function referenceOf(tree: SchemaTree, { resource }: Subschema, reference: string, isDynamic: boolean) {
  const target = tree.targetOf(resource, reference) as Subschema;
  const anchor = reference.slice(1);
  if (!isDynamic || target.resource.dynamicAnchors.get(anchor) !== target) return () => target;
  return (run: Evaluation) => {
    run.spend(run.scope.length);
    const outermost = run.scope.find((one: Resource) => one.dynamicAnchors.has(anchor));
    return outermost?.dynamicAnchors.get(anchor) ?? target;
  };
}
