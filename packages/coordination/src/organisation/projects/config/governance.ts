import type { Json, JsonObject } from '@baton/values/wire';
import { fail } from '../../errors.ts';

/**
 * The limits that a project sets for its work. Every field is ordered from strict to lax, and of the values of two
 * layers, the stricter one takes effect: a layer can narrow the limits of its ancestors but never widen them. See
 * docs/reference/projects.md#governance.
 */
export type Governance = JsonObject;

interface Field {
  /** Returns the stored form of a value; undefined if it is invalid. */
  parse(sent: Json): Json | undefined;
  /** Returns the value that allows only what both values allow. */
  meet(one: Json, other: Json): Json;
}

/** @param values ordered from strict to lax */
function ordered(...values: readonly string[]): Field {
  return {
    parse: (sent) => (typeof sent === 'string' && values.includes(sent) ? sent : undefined),
    meet: (one, other) => (values.indexOf(one as string) <= values.indexOf(other as string) ? one : other),
  };
}

const strictWhenTrue: Field = {
  parse: (sent) => (typeof sent === 'boolean' ? sent : undefined),
  meet: (one, other) => one === true || other === true,
};

function subsetOf(...known: readonly string[]): Field {
  return {
    parse(sent) {
      if (!Array.isArray(sent) || sent.length > subsetItemsMax) return undefined;
      if (!sent.every((item) => typeof item === 'string' && known.includes(item))) return undefined;
      return [...new Set(sent as string[])].sort();
    },
    meet: (one, other) => (one as string[]).filter((item) => (other as string[]).includes(item)),
  };
}
/** The maximum number of items; duplicates count once. */
const subsetItemsMax = 100;

/** null: unbounded. */
const bound: Field = {
  parse: (sent) =>
    sent === null || (Number.isSafeInteger(sent) && (sent as number) >= 0) ? sent : undefined,
  meet: (one, other) =>
    one === null ? other : other === null ? one : Math.min(one as number, other as number),
};

const fields: Readonly<Record<string, Field>> = {
  maxAutonomyLevel: ordered('supervised', 'assisted', 'autonomous'),
  memoryScopeSharing: ordered('none', 'project', 'ancestors'),
  requireApprovalForRun: strictWhenTrue,
  requireApprovalForCompletion: strictWhenTrue,
  allowedTaskPriorities: subsetOf('critical', 'high', 'medium', 'low'),
  allowedSkillProtocols: subsetOf('mcp', 'http', 'local', 'opencode', 'custom'),
  maxRunDurationSeconds: bound,
  maxRunActions: bound,
  maxConcurrentRuns: bound,
};
export const governanceFields = Object.keys(fields);

/**
 * @param sent an object
 * @param path its JSON pointer, for the details
 * @throws Refusal `unknown_governance_field`, `invalid_governance`
 */
export function parseGovernance(sent: JsonObject, path = '/governance'): Governance {
  const parsed = Object.entries(sent).map(([name, value]): [string, Json] => {
    const at = `${path}/${name.slice(0, 100).toWellFormed()}`;
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) return fail('unknown_governance_field', { path: at, known: governanceFields });
    const stored = field.parse(value);
    return [name, stored === undefined ? fail('invalid_governance', { path: at }) : stored];
  });
  return Object.fromEntries(parsed);
}

/** Combines the values of a field that both layers set. */
export function meetOf(name: string, one: Json, other: Json): Json {
  return (fields[name] as Field).meet(one, other);
}

/** A field for which a layer would allow more than its ancestors do. */
export interface Violation {
  readonly path: string;
  readonly ancestor: Json;
  readonly project: Json;
}

/** The fields that a layer sets to a laxer value than the ceiling. */
export function violationsOf(ceiling: Governance, own: Governance): Violation[] {
  return Object.entries(own).flatMap(([name, project]) => {
    if (!Object.hasOwn(ceiling, name)) return [];
    const ancestor = ceiling[name] as Json;
    const isNarrower = JSON.stringify(meetOf(name, ancestor, project)) === JSON.stringify(project);
    return isNarrower ? [] : [{ path: `/governance/${name}`, ancestor, project }];
  });
}
