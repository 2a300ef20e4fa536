// npm run check: checks that everything that a caller may send has a maximum. Prints inputs without one.
import { z } from 'zod';
import { queryShapeOf } from '@baton/kernel/http/input';
import { endpointName, type Operation } from '@baton/kernel/http/service';

type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Finds inputs without a maximum: a string without `maxLength`, an array without `maxItems`, an object with arbitrary
 * keys without `maxProperties`, a free document without `x-maxBytes`. It checks bodies, queries and paths. @returns one
 * line per input
 */
export function unboundedInputs(endpoints: readonly Operation[]): string[] {
  return endpoints.flatMap((endpoint) => {
    const forms: [string, z.ZodType][] = [
      ['query', z.object(queryShapeOf(endpoint))],
      ['path', z.object(endpoint.params)],
      ...(endpoint.body === undefined ? [] : [['body', endpoint.body] as [string, z.ZodType]]),
    ];
    return forms.flatMap(([where, form]) => {
      const { $defs = {}, ...schema } = z.toJSONSchema(form, { io: 'input', unrepresentable: 'any' });
      const definitions = Object.values($defs) as JsonSchema[];
      // Checks the schema that lists all parameters, and the named schemas that it refers to.
      const found = [schema as JsonSchema, ...definitions].flatMap((part) => unboundedIn(part, where));
      return [...new Set(found)].map((problem) => `${endpointName(endpoint)}: ${problem}`);
    });
  });
}

function unboundedIn(form: JsonSchema, path: string): string[] {
  if (form['$ref'] !== undefined || form['const'] !== undefined || form['enum'] !== undefined) return [];
  const choices = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => (form[key] ?? []) as JsonSchema[]);
  if (choices.length > 0) return choices.flatMap((choice) => unboundedIn(choice, path));
  const types = [form['type']].flat();
  return [
    ...(types.includes('string') ? unboundedText(form, path) : []),
    ...(types.includes('array') ? unboundedList(form, path) : []),
    ...(types.includes('object') ? unboundedObject(form, path) : []),
    ...(form['type'] === undefined && form['x-maxBytes'] === undefined ? [`${path} is anything`] : []),
  ];
}

function unboundedText({ maxLength, format, pattern }: JsonSchema, path: string): string[] {
  const isBounded =
    maxLength !== undefined || format === 'uuid' || (typeof pattern === 'string' && isFinite(pattern));
  return isBounded ? [] : [`${path} is a text without maxLength`];
}

/** Whether only strings of limited length match: the pattern is anchored at both ends and has no `*`, `+` or `{2,}`. */
function isFinite(pattern: string): boolean {
  const bare = pattern.replaceAll(/\\./g, 'x').replaceAll(/\[[^\]]*\]/g, 'x');
  return /^\^.*\$$/.test(pattern) && !/[*+]|\{\d+,\}/.test(bare);
}

function unboundedList({ maxItems, items, prefixItems }: JsonSchema, path: string): string[] {
  const parts = [items, ...((prefixItems as unknown[] | undefined) ?? [])].filter(
    (part) => part !== undefined,
  );
  return [
    ...(maxItems === undefined && prefixItems === undefined ? [`${path} is a list without maxItems`] : []),
    ...parts.flatMap((part) => unboundedIn(part as JsonSchema, `${path}[]`)),
  ];
}

function unboundedObject(form: JsonSchema, path: string): string[] {
  if (form['x-maxBytes'] !== undefined) return [];
  const { properties, additionalProperties, maxProperties } = form;
  const fields = Object.entries((properties ?? {}) as Record<string, JsonSchema>);
  const others = additionalProperties as JsonSchema | boolean | undefined;
  const isAny = others === true || (typeof others === 'object' && Object.keys(others).length === 0);
  const isFree = isAny || (properties === undefined && others === undefined);
  return [
    ...(isFree ? [`${path} is a free document without x-maxBytes`] : []),
    ...(typeof others === 'object' && !isAny && maxProperties === undefined
      ? [`${path} has any number of names: maxProperties`]
      : []),
    ...(typeof others === 'object' && !isAny ? unboundedIn(others, `${path}.*`) : []),
    ...fields.flatMap(([name, field]) => unboundedIn(field, `${path}.${name}`)),
  ];
}

if (import.meta.filename === process.argv[1]) {
  // Imported only here, because it loads both services.
  const { services } = await import('./services.ts');
  const problems = services.flatMap(({ endpoints }) => unboundedInputs(endpoints));
  console.log(problems.join('\n'));
  process.exitCode = problems.length === 0 ? 0 : 1;
}
