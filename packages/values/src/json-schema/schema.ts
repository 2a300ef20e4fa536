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
 * JSON Schema 2020-12 for schemas from tenants (docs/reference/README.md#documents). They are read, never turned into code; formats only
 * annotate, as the draft says, unless they are asserted. What a schema may cost is bounded twice: when it is read (size, references, patterns), and
 * in steps whenever it is applied.
 */
export interface PreparedSchema {
  /** What is wrong with an instance, at most 20 faults; empty when it fits. Takes 25 ms at most on a quiet machine. */
  faultsOf(instance: Json): SchemaFault[];
  /** The steps that an evaluation of the instance takes, to compare schemas with. */
  stepsFor(instance: Json): number;
}

/**
 * Reads a schema once, so that instances can be checked against it.
 * @param document within the bounds of a document (`checkDocument`)
 * @param options.formats whether texts must have the formats that the schema names
 * @throws SchemaDefect where it isn't a valid schema of the draft, refers to elsewhere, or costs too much to apply
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
    // Whatever was found before: what has not been checked to its end does not fit.
    run.faults.splice(0, run.faults.length, { path: '', message: 'takes too many steps to check' });
  }
  return run;
}

type Makers = ReadonlyMap<string, CheckMaker>;
const annotatingMakers: Makers = new Map([...Object.entries(valueChecks), ...Object.entries(applicators)]);
const assertingMakers: Makers = new Map([['format', assertFormat], ...annotatingMakers]);
const order = [...assertingMakers.keys()];

/** Makes the checks of one schema, those on what others have looked at last. */
function build(tree: SchemaTree, subschema: Subschema, makers: Makers): void {
  const schema = tree.documents.get(subschema) as JsonObject | boolean;
  if (typeof schema === 'boolean') {
    subschema.checks = schema ? [] : [(_, at, run) => run.fault(at, 'must not be there')];
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
 * A dynamic reference to a dynamic anchor leads to the anchor of that name in the outermost resource that the evaluation
 * came through and that has one.
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
