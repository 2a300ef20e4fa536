import type { Json } from '../wire.ts';

/** The type that the draft 2020-12 requires for each keyword, and where the keyword's value contains schemas. */

/**
 * Where a keyword's value contains schemas: the value itself, a list, or the members of an object; `value` contains
 * none.
 */
export type Place = 'schema' | 'schemas' | 'schemasByName' | 'value';

export interface KeywordForm {
  readonly place: Place;
  /** The fault in a keyword's value, or undefined. Schemas inside the value are validated one by one. */
  fault(value: Json): string | undefined;
}

const draft = 'https://json-schema.org/draft/2020-12/schema';
const types = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];
const anchorForm = /^[A-Za-z_][-A-Za-z0-9._]{0,199}$/;

/** Whether a value is an object, not a list and not null. */
export function isObject(value: unknown): value is { [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function value(message: string, fits: (value: Json) => boolean): KeywordForm {
  return { place: 'value', fault: (given) => (fits(given) ? undefined : message) };
}

const isText = (given: Json): given is string => typeof given === 'string';
const isNumber = (given: Json): given is number => typeof given === 'number';
const areNames = (given: Json) =>
  Array.isArray(given) && given.every(isText) && new Set(given).size === given.length;

const any = value('', () => true);
const text = value('must be a text', isText);
const flag = value('must be true or false', (given) => typeof given === 'boolean');
const list = value('must be a list', Array.isArray);
const number = value('must be a number', isNumber);
const count = value(
  'must be an integer from 0',
  (given) => isNumber(given) && Number.isInteger(given) && given >= 0,
);
const names = value('must be a list of different texts', areNames);
const anchor = value('must be a name', (given) => isText(given) && anchorForm.test(given));
const reference = value(
  'must refer to a place in the same document',
  (given) => isText(given) && given[0] === '#',
);

const schema: KeywordForm = { place: 'schema', fault: () => undefined };
const schemas: KeywordForm = {
  place: 'schemas',
  fault: (given) =>
    Array.isArray(given) && given.length > 0 ? undefined : 'must be a list of at least one schema',
};
const schemasByName: KeywordForm = {
  place: 'schemasByName',
  fault: (given) => (isObject(given) ? undefined : 'must be an object of schemas'),
};

/** Forms by keyword. Other names are annotations with any value. */
export const keywordForms: ReadonlyMap<string, KeywordForm> = new Map([
  ['then', schema],
  ...Object.entries({
    $schema: value(`must be ${draft}`, (given) => given === draft || given === `${draft}#`),
    $id: value('must be a URI without a fragment', (given) => isText(given) && /^[^#]+#?$/.test(given)),
    $ref: reference,
    $dynamicRef: reference,
    $recursiveRef: reference,
    $anchor: anchor,
    $dynamicAnchor: anchor,
    $vocabulary: value(
      'must be an object of true and false',
      (given) => isObject(given) && Object.values(given).every((one) => typeof one === 'boolean'),
    ),
    $comment: text,
    $defs: schemasByName,
    definitions: schemasByName,
    prefixItems: schemas,
    items: schema,
    contains: schema,
    additionalProperties: schema,
    properties: schemasByName,
    patternProperties: schemasByName,
    dependentSchemas: schemasByName,
    propertyNames: schema,
    if: schema,
    else: schema,
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: schema,
    unevaluatedItems: schema,
    unevaluatedProperties: schema,
    type: value(
      `must be one or more of ${types.join(', ')}`,
      (given) =>
        types.includes(given as string) ||
        (areNames(given) &&
          (given as string[]).length > 0 &&
          (given as string[]).every((one) => types.includes(one))),
    ),
    const: any,
    enum: list,
    multipleOf: value('must be a number above 0', (given) => isNumber(given) && given > 0),
    maximum: number,
    exclusiveMaximum: number,
    minimum: number,
    exclusiveMinimum: number,
    maxLength: count,
    minLength: count,
    pattern: text,
    maxItems: count,
    minItems: count,
    uniqueItems: flag,
    maxContains: count,
    minContains: count,
    maxProperties: count,
    minProperties: count,
    required: names,
    dependentRequired: value(
      'must be an object of lists of different texts',
      (given) => isObject(given) && Object.values(given).every(areNames),
    ),
    title: text,
    description: text,
    default: any,
    deprecated: flag,
    readOnly: flag,
    writeOnly: flag,
    examples: list,
    format: text,
    contentEncoding: text,
    contentMediaType: text,
    contentSchema: schema,
  } satisfies Record<string, KeywordForm>),
]);
