/** The types that describe a SCIM attribute, schema and resource (RFC 7643, sections 2, 6 and 7). */

export interface Attribute {
  readonly name: string;
  readonly type: 'string' | 'boolean' | 'dateTime' | 'reference' | 'binary' | 'complex';
  readonly multiValued: boolean;
  readonly description: string;
  readonly required: boolean;
  readonly caseExact: boolean;
  readonly mutability: 'readWrite' | 'readOnly' | 'writeOnly' | 'immutable';
  readonly returned: 'default' | 'always' | 'never';
  readonly uniqueness: 'none' | 'server';
  readonly canonicalValues?: readonly string[];
  readonly referenceTypes?: readonly string[];
  readonly subAttributes?: readonly Attribute[];
}

export interface Schema {
  readonly urn: string;
  readonly name: string;
  readonly description: string;
  readonly attributes: readonly Attribute[];
}

/** A kind of resource: its core schema and its extensions. */
export interface ResourceKind {
  readonly name: 'User' | 'Group';
  readonly endpoint: '/Users' | '/Groups';
  readonly core: Schema;
  readonly extensions: readonly Schema[];
}

export function schemaOf(kind: ResourceKind, urn: string): Schema | undefined {
  return [kind.core, ...kind.extensions].find((schema) => sameName(schema.urn, urn));
}

export function attributeNamed(attributes: readonly Attribute[], name: string): Attribute | undefined {
  return attributes.find((attribute) => sameName(attribute.name, name));
}

/** SCIM compares the names of attributes, schemas and resources case-insensitively. */
export function sameName(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

/** An optional string that a client may change, unless `more` overrides this. */
export function attribute(name: string, description: string, more: Partial<Attribute> = {}): Attribute {
  return {
    name,
    type: 'string',
    multiValued: false,
    description,
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    ...more,
  };
}

export const readOnly = { mutability: 'readOnly' } as const;

export function complex(name: string, description: string, subAttributes: readonly Attribute[]): Attribute {
  return attribute(name, description, { type: 'complex', subAttributes });
}

/** A list whose elements have a value, a type, and a mark for the preferred one, like most of a user's lists. */
export function plural(
  name: string,
  description: string,
  types: readonly string[],
  value: Partial<Attribute> = {},
): Attribute {
  return {
    ...complex(name, description, [
      attribute('value', 'The value itself.', value),
      attribute('display', 'A name for people.'),
      attribute('type', 'The purpose of the element.', types.length === 0 ? {} : { canonicalValues: types }),
      attribute('primary', 'Whether it is the preferred one; at most one is.', { type: 'boolean' }),
    ]),
    multiValued: true,
  };
}

export const reference = (referenceTypes: readonly string[], more: Partial<Attribute> = {}) =>
  ({ type: 'reference', caseExact: true, referenceTypes, ...more }) as const;
