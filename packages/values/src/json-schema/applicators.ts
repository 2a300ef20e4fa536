import type { Json } from '../wire.ts';
import { type CheckMaker, type KeywordParts, matches, namesOf } from './checks.ts';
import { type Check, pointerKey, type Subschema } from './evaluation.ts';
import { isObject } from './keywords.ts';

/**
 * The keywords of JSON Schema that apply schemas: to the same value, to the items of a list, to the members of an
 * object.
 */

/** In evaluation order: keywords that depend on which members others have evaluated are last. */
export const applicators: Readonly<Record<string, CheckMaker>> = {
  $ref: ({ reference }) => applied(reference(false)),
  $dynamicRef: ({ reference }) => applied(reference(true)),
  allOf: (parts) => {
    const all = listed('allOf', parts);
    return (given, at, run, seen) => {
      let fits = true;
      for (const one of all) {
        if (!run.fits(one, given, at, seen)) fits = false;
        if (!fits && run.isDecided) return false;
      }
      return fits;
    };
  },
  anyOf: (parts) => {
    const any = listed('anyOf', parts);
    return (given, at, run, seen) => {
      let isOne = false;
      for (const one of any) {
        if (run.quietly(one, given, at, seen)) isOne = true;
        // If the evaluated members must be collected, the remaining schemas have to be evaluated too.
        if (isOne && seen === undefined) return true;
      }
      return isOne || run.fault(at, 'must match a schema of anyOf');
    };
  },
  oneOf: (parts) => {
    const schemas = listed('oneOf', parts);
    return (given, at, run, seen) => {
      let fitting = 0;
      for (const one of schemas) if (run.quietly(one, given, at, seen)) fitting += 1;
      return fitting === 1 || run.fault(at, 'must match exactly one schema of oneOf');
    };
  },
  not: ({ inside }) => {
    const refused = inside('/not');
    return (given, at, run) =>
      !run.quietly(refused, given, at, undefined) || run.fault(at, 'must NOT match the schema of not');
  },
  if: ({ inside, schema }) => {
    const condition = inside('/if');
    const met = Object.hasOwn(schema, 'then') ? inside('/then') : undefined;
    const unmet = Object.hasOwn(schema, 'else') ? inside('/else') : undefined;
    return (given, at, run, seen) => {
      const next = run.quietly(condition, given, at, seen) ? met : unmet;
      return next === undefined || run.fits(next, given, at, seen);
    };
  },
  dependentSchemas: ({ value, inside }) => {
    const byName = schemasByName('dependentSchemas', value, inside);
    return (given, at, run, seen) => {
      if (!isObject(given)) return true;
      run.spend(byName.size);
      for (const [name, schema] of byName)
        if (Object.hasOwn(given, name) && !run.fits(schema, given, at, seen)) return false;
      return true;
    };
  },

  prefixItems: (parts) => {
    const first = listed('prefixItems', parts);
    return eachItem((index) => first[index]);
  },
  items: ({ schema, inside }) => {
    const rest = inside('/items');
    const prefix = Array.isArray(schema['prefixItems']) ? schema['prefixItems'].length : 0;
    return eachItem((index) => (index < prefix ? undefined : rest));
  },
  contains: ({ schema, inside }) => {
    const wanted = inside('/contains');
    const least = (schema['minContains'] ?? 1) as number;
    const most = (schema['maxContains'] ?? Number.POSITIVE_INFINITY) as number;
    return (given, at, run, seen) => {
      if (!Array.isArray(given)) return true;
      let found = 0;
      for (const [index, item] of given.entries()) {
        if (!run.quietly(wanted, item, at, undefined)) continue;
        found += 1;
        seen?.items.add(index);
      }
      return (
        (found >= least && found <= most) ||
        run.fault(at, 'must contain as many matching items as contains requires')
      );
    };
  },

  properties: ({ value, inside }) => {
    const byName = schemasByName('properties', value, inside);
    return eachMember((name) => byName.get(name));
  },
  patternProperties: ({ value, inside, pattern }) => {
    const byPattern = [...schemasByName('patternProperties', value, inside)].map(
      ([text, schema]) => [pattern(text), schema] as const,
    );
    return (given, at, run, seen) => {
      if (!isObject(given)) return true;
      let fits = true;
      for (const name of namesOf(given, run))
        for (const [compiled, schema] of byPattern) {
          if (!matches(compiled, name, run)) continue;
          seen?.names.add(name);
          if (!run.fits(schema, given[name] as Json, { parent: at, key: name }, undefined)) fits = false;
          if (!fits && run.isDecided) return false;
        }
      return fits;
    };
  },
  additionalProperties: ({ schema, inside, pattern }) => {
    const rest = inside('/additionalProperties');
    const named = new Set(Object.keys(schema['properties'] ?? {}));
    const patterns = Object.keys(schema['patternProperties'] ?? {}).map(pattern);
    return eachMember((name, run) =>
      named.has(name) || patterns.some((compiled) => matches(compiled, name, run)) ? undefined : rest,
    );
  },
  propertyNames: ({ inside }) => {
    const form = inside('/propertyNames');
    return (given, at, run) =>
      !isObject(given) ||
      namesOf(given, run).every((name) => run.quietly(form, name, at, undefined)) ||
      run.fault(at, 'the names of its properties must match the schema of propertyNames');
  },

  unevaluatedItems: ({ inside }) => {
    const rest = inside('/unevaluatedItems');
    return eachItem((index, seen) => (seen?.items.has(index) ? undefined : rest));
  },
  unevaluatedProperties: ({ inside }) => {
    const rest = inside('/unevaluatedProperties');
    return eachMember((name, _, seen) => (seen?.names.has(name) ? undefined : rest));
  },
};

function applied(target: ReturnType<KeywordParts['reference']>): Check {
  return (given, at, run, seen) => run.fits(target(run), given, at, seen);
}

function listed(keyword: string, { value, inside }: KeywordParts): Subschema[] {
  return (value as Json[]).map((_, index) => inside(`/${keyword}/${index}`));
}

function schemasByName(keyword: string, value: Json, inside: KeywordParts['inside']): Map<string, Subschema> {
  const names = Object.keys(value as object);
  return new Map(names.map((name) => [name, inside(`/${keyword}${pointerKey(name)}`)]));
}

/** Applies the schema of each index to the item of a list, if it exists. */
function eachItem(choose: (index: number, seen: Parameters<Check>[3]) => Subschema | undefined): Check {
  return (given, at, run, seen) => {
    if (!Array.isArray(given)) return true;
    let fits = true;
    run.spend(given.length);
    for (const [index, item] of given.entries()) {
      const schema = choose(index, seen);
      if (schema === undefined) continue;
      seen?.items.add(index);
      if (!run.fits(schema, item, { parent: at, key: index }, undefined)) fits = false;
      if (!fits && run.isDecided) return false;
    }
    return fits;
  };
}

/** Applies the schema of each name to the member of an object, if it exists. */
function eachMember(
  choose: (name: string, run: Parameters<Check>[2], seen: Parameters<Check>[3]) => Subschema | undefined,
): Check {
  return (given, at, run, seen) => {
    if (!isObject(given)) return true;
    let fits = true;
    for (const name of namesOf(given, run)) {
      const schema = choose(name, run, seen);
      if (schema === undefined) continue;
      seen?.names.add(name);
      if (!run.fits(schema, given[name] as Json, { parent: at, key: name }, undefined)) fits = false;
      if (!fits && run.isDecided) return false;
    }
    return fits;
  };
}
