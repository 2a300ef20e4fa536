import type { Located } from '../protocol/attribute-path.ts';
import { type Attribute, attributeNamed, type ResourceKind } from '../protocol/attributes.ts';
import type { Scope } from './sql-scope.ts';

/**
 * The SQL expression for a single-valued attribute, over the row `r`:
 *
 * | attribute                  | expression                                              |
 * | -------------------------- | ------------------------------------------------------- |
 * | `userName`                 | `r.user_name`                                           |
 * | `title`                    | `(r.document ->> 'title')`                              |
 * | `name.givenName`           | `(r.document -> 'name' ->> 'givenName')`                |
 * | `urn:…:manager.value`      | `(r.document -> 'urn:…' -> 'manager' ->> 'value')`      |
 * | `meta.created`             | `r.created_at`                                          |
 *
 * Names come from the schemas, never from a client. An absent attribute is null.
 */

/** The attributes of users and groups that have their own column. */
export const columns: Readonly<Record<string, string>> = {
  id: 'r.id',
  externalId: 'r.external_id',
  userName: 'r.user_name',
  displayName: 'r.display_name',
  active: 'r.active',
};

const metaExpressions: Readonly<Record<string, (scope: Scope) => string>> = {
  created: () => 'r.created_at',
  lastModified: () => 'r.modified_at',
  version: () => `('W/"' || r.version || '"')`,
  resourceType: ({ kind }) => `'${kind.name}'::text`,
  location: ({ kind, values, base }) => `(${values.add(`${base}${kind.endpoint}/`)}::text || r.id)`,
};

export function expressionOf(scope: Scope, { attribute, sub, extension }: Located): string {
  const owner = ownerOf(extension?.urn);
  if (extension === undefined) {
    const meta = attribute.name === 'meta' && sub !== undefined ? metaExpressions[sub.name] : undefined;
    if (meta !== undefined) return meta(scope);
    const column = columns[attribute.name];
    if (column !== undefined) return column;
  }
  return sub === undefined
    ? castToType(attribute, `(${owner} ->> '${attribute.name}')`)
    : castToType(sub, `(${owner} -> '${attribute.name}' ->> '${sub.name}')`);
}

/** Whether an attribute with parts and one value, such as `name`, is present at all. */
export function presenceCondition(kind: ResourceKind, { attribute, extension }: Located): string {
  if (attribute.name === 'meta') return '(true)';
  // Groups have no document.
  return kind.name === 'Group' ? '(false)' : `(${ownerOf(extension?.urn)} ? '${attribute.name}')`;
}

/**
 * The expression for a path without a part. For an attribute with parts, it is that of its `value`, or undefined if it
 * has none.
 */
export function comparedAttribute({ attribute, sub }: Located): Attribute | undefined {
  if (sub !== undefined) return sub;
  return attribute.type === 'complex' ? attributeNamed(attribute.subAttributes ?? [], 'value') : attribute;
}

/**
 * A value in the JSON document, cast to the type of its attribute. The cast cannot fail, because bodies are parsed by
 * the schema.
 */
export function castToType({ type }: Attribute, text: string): string {
  return type === 'boolean' ? `(${text})::boolean` : text;
}

/** Strings are compared by code point, which is how the indexes are sorted, and in lower case unless case matters. */
export function collateText(attribute: Attribute, expression: string): string {
  if (attribute.type === 'boolean' || attribute.type === 'dateTime') return expression;
  const text = isUuid(expression) ? `${expression}::text` : expression;
  return attribute.caseExact ? `(${text} collate "C")` : `(lower(${text}) collate "C")`;
}

/** Ids are the only expressions of type uuid. */
export function isUuid(expression: string): boolean {
  return expression === 'r.id' || expression === 'e.id';
}

function ownerOf(extensionUrn: string | undefined): string {
  return extensionUrn === undefined ? 'r.document' : `r.document -> '${extensionUrn}'`;
}
