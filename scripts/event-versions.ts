// A version of an event's type may only add fields (docs/reference/versions.md#events), so that the fields that
// consumers read remain unchanged.

type Schema = Readonly<Record<string, unknown>>;

interface AsyncApi {
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly payload: { readonly $ref: string } }>>;
    readonly schemas: Readonly<Record<string, Schema>>;
  };
}

/**
 * Compares two AsyncAPI documents of the catalog of events.
 * @param before the committed document; @param after the declared
 * one @returns one sentence per removed type, and per field of the same type and version that was removed, that became
 * optional, or has values of another kind
 */
export function brokenVersions(before: unknown, after: unknown): string[] {
  const [old, young] = [before as AsyncApi, after as AsyncApi];
  return Object.keys(old.components.messages)
    .filter((name) => !name.endsWith('.cloudevent'))
    .flatMap((type) => {
      if (young.components.messages[type] === undefined)
        return [`${type} is no longer declared: consumers of the journal still expect it.`];
      const [was, is] = [eventOf(old, type), eventOf(young, type)];
      if (was.version !== is.version) return [];
      return changesOf({ schema: was.payload, document: old }, { schema: is.payload, document: young }).map(
        (change) =>
          `${type}, version ${was.version}: ${change}. Raise its version (the last argument of defineEvent), or leave the field as it is.`,
      );
    });
}

interface Place {
  readonly schema: Schema;
  readonly document: AsyncApi;
}

function eventOf(document: AsyncApi, type: string): { version: unknown; payload: Schema } {
  const reference = document.components.messages[type]?.payload.$ref ?? '';
  const whole = resolved({ schema: { $ref: reference }, document }).schema as {
    allOf?: readonly { properties?: Readonly<Record<string, Schema>> }[];
  };
  const fixed = whole.allOf?.find(
    ({ properties }) => properties?.['schemaVersion'] !== undefined,
  )?.properties;
  if (fixed === undefined) throw new Error(`the description of ${type} has no version`);
  return { version: fixed['schemaVersion']?.['const'], payload: fixed['payload'] ?? {} };
}

const depthMax = 20;

function changesOf(before: Place, after: Place, path = 'payload', depth = 0): string[] {
  const [old, young] = [variantsOf(before), variantsOf(after)];
  const further = kindsOf(young).filter(
    (kind) => !kindsOf(old).includes(kind) && !kindsOf(old).includes('any'),
  );
  if (further.length > 0)
    return [`${path} was ${kindsOf(old).join(' or ')}, and may be ${further.join(' or ')} now`];
  // A recursive type is compared at its first level only: if that level is equal, the deeper levels are too.
  if (depth >= depthMax) return [];
  return [
    ...fieldsOf(old).flatMap((name) => fieldChanges(name, old, young, path, depth)),
    ...itemChanges(old, young, path, depth),
  ];
}

function fieldChanges(name: string, old: Place[], young: Place[], path: string, depth: number): string[] {
  const [was, is] = [fieldIn(old, name), fieldIn(young, name)];
  const at = `${path}.${name}`;
  if (is.length === 0) return [`${at} was removed`];
  const wasAlways = isAlways(old, name);
  const lost = wasAlways && !isAlways(young, name) ? [`${at} was always there, and may be absent now`] : [];
  const [first, ...others] = was;
  // If there are several variants, only their fields are compared, not the values in each variant.
  if (first === undefined || others.length > 0 || is.length > 1) return lost;
  return [...lost, ...changesOf(first, is[0] as Place, at, depth + 1)];
}

function itemChanges(old: Place[], young: Place[], path: string, depth: number): string[] {
  const itemsOf = (variants: Place[]) =>
    variants.flatMap(({ schema, document }) =>
      schema['items'] === undefined ? [] : [{ schema: schema['items'] as Schema, document }],
    );
  const [[was, ...others], [is]] = [itemsOf(old), itemsOf(young)];
  if (was === undefined || others.length > 0) return [];
  return is === undefined ? [] : changesOf(was, is, `${path}[]`, depth + 1);
}

/** The forms that a value may have, each without references. */
function variantsOf(place: Place, depth = 0): Place[] {
  const { schema, document } = resolved(place);
  const several = (schema['anyOf'] ?? schema['oneOf']) as readonly Schema[] | undefined;
  if (several === undefined || depth >= depthMax) return [{ schema, document }];
  return several.flatMap((one) => variantsOf({ schema: one, document }, depth + 1));
}

function resolved({ schema, document }: Place): Place {
  let found = schema;
  for (let n = 0; n < depthMax && typeof found['$ref'] === 'string'; n += 1)
    found = document.components.schemas[found['$ref'].split('/').at(-1) ?? ''] ?? {};
  return { schema: found, document };
}

function kindsOf(variants: readonly Place[]): string[] {
  return [...new Set(variants.flatMap(({ schema }) => kindOf(schema)))];
}

/** `string`, `string (uuid)`, `null`; further values of an enumeration are not compared. */
function kindOf({ type, format, const: constant, enum: values }: Schema): string[] {
  if (type === undefined && constant !== undefined) return [nameOf(constant)];
  if (type === undefined && values !== undefined) return [...new Set((values as unknown[]).map(nameOf))];
  const names = type === undefined ? ['any'] : ([type].flat() as string[]);
  return names.map((name) =>
    name === 'string' && format !== undefined ? `string (${String(format)})` : name,
  );
}

function nameOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

function propertiesOf({ schema }: Place): Readonly<Record<string, Schema>> {
  return (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>;
}

function fieldsOf(variants: readonly Place[]): string[] {
  return [...new Set(variants.flatMap((one) => Object.keys(propertiesOf(one))))];
}

function fieldIn(variants: readonly Place[], name: string): Place[] {
  return variants.flatMap((one) => {
    const schema = propertiesOf(one)[name];
    return schema === undefined ? [] : [{ schema, document: one.document }];
  });
}

/** Whether each variant that is an object has the field. */
function isAlways(variants: readonly Place[], name: string): boolean {
  return variants
    .filter(({ schema }) => schema['properties'] !== undefined)
    .every(({ schema }) => ((schema['required'] ?? []) as string[]).includes(name));
}
