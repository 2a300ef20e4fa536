import { CORE_SCHEMA, load, YAMLException } from 'js-yaml';
import type { Json } from '@baton/values/wire';
import { isObject } from './expressions/types.ts';
import { type ProcessProblem, pointer, problem } from './problems.ts';

/** YAML text of this length is parsed in 40 ms; larger documents must be sent as JSON. */
export const yamlCharactersMax = 65_536;

/** The limits for a parsed document: its depth, and the number of its values. */
export const textDepthMax = 64;
export const textNodesMax = 20_000;

/**
 * Parses YAML 1.2 text of at most `yamlCharactersMax` characters as JSON, synchronously.
 * @returns the value, or one problem: `invalid_yaml` with its line, `invalid_document`
 */
export function readYaml(text: string): { readonly value: Json } | ProcessProblem {
  try {
    return jsonValue(load(text, { schema: CORE_SCHEMA, maxDepth: textDepthMax, maxAliases: 100 }));
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark?.line;
    const found = problem('invalid_yaml', '', error.reason);
    return line === undefined ? found : { ...found, line: line + 1 };
  }
}

/** A copy of the parsed value, as JSON within limits; otherwise a problem `invalid_document`. */
export function jsonValue(loaded: unknown): { readonly value: Json } | ProcessProblem {
  try {
    return { value: jsonOf(loaded, { left: textNodesMax }, '', 1) };
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    return problem('invalid_document', error.path, error.message);
  }
}

class NotJson extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** A copy without shared parts, in which a repeated value counts each time. @throws NotJson */
function jsonOf(value: unknown, nodes: { left: number }, path: string, depth: number): Json {
  nodes.left -= 1;
  if (nodes.left < 0) throw new NotJson(path, `has more than ${textNodesMax} values`);
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    if (Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)) return value;
    throw new NotJson(path, 'is a number that JSON does not hold exactly');
  }
  if (depth > textDepthMax) throw new NotJson(path, 'is nested too deeply');
  if (Array.isArray(value)) return value.map((item, n) => jsonOf(item, nodes, path + pointer(n), depth + 1));
  if (!isObject(value)) throw new NotJson(path, 'is no value of JSON');
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      jsonOf(member, nodes, path + pointer(name), depth + 1),
    ]),
  );
}
