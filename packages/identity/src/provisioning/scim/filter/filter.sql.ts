import { InstantInput } from '@baton/kernel/wire';
import { fail } from '../../errors.ts';
import type { Filter } from './filter-grammar.ts';
import { type AttributePath, type Located, locate } from '../protocol/attribute-path.ts';
import { type Attribute, attributeNamed, type ResourceKind } from '../protocol/attributes.ts';
import { enterpriseUrn } from '../protocol/schemas.ts';

/**
 * Filters as SQL over one row `r` of scim_users or scim_groups. Every value that a client sent is a parameter; the only
 * texts are names from the schemas. What is absent is null, which matches nothing except `ne` and `not`.
 *
 * Equal texts and beginnings of the attributes in a user's document are looked for among candidates first, which an
 * index finds (migration 0004): over 100,000 users that took 1 ms where reading them all took 500.
 */

/** A statement that grows: `$1`, `$2`… for its values. */
export class SqlValues {
  readonly values: unknown[] = [];

  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/** Where a filter is used. */
export interface Scope {
  readonly kind: ResourceKind;
  readonly values: SqlValues;
  /** The address that the resources are below. */
  readonly base: string;
  /** The parameter that holds the source. */
  readonly source: string;
}

/** Below `not` there are no candidates: who is not found by an index is looked for. */
interface Position extends Scope {
  readonly isNegated?: boolean;
}

type Compare = Extract<Filter, { kind: 'compare' }>;
type Leaf = Compare | Extract<Filter, { kind: 'present' }>;

/** A list as rows `e`, and how to get at a part of one. */
interface Elements {
  readonly from: string;
  /** Which rows are those of `r`; beside the filter, so that PostgreSQL may begin at either. */
  readonly of: string;
  readonly isPresent: string;
  part(sub: Attribute | undefined): string;
}

/** The condition that a filter stands for. @throws Refusal `scim_invalid_filter` */
export function filterCondition(scope: Scope, filter: Filter): string {
  return condition(scope, filter);
}

function condition(scope: Position, filter: Filter): string {
  if (filter.kind === 'and' || filter.kind === 'or')
    return `(${filter.of.map((part) => condition(scope, part)).join(` ${filter.kind} `)})`;
  if (filter.kind === 'not')
    return `(not coalesce(${condition({ ...scope, isNegated: true }, filter.of)}, false))`;
  const located = locate(scope.kind, filter.path) ?? fail('scim_invalid_filter');
  const { attribute, sub } = located;
  if (attribute.returned === 'never') fail('scim_invalid_filter');
  if (filter.kind === 'elements') {
    if (!attribute.multiValued || attribute.subAttributes === undefined) fail('scim_invalid_filter');
    const elements = elementsOf(scope, located);
    const exact = elementCondition(attribute, filter.of, elements, scope.values);
    return among(
      elementCandidates(scope, located, filter.of),
      `(exists (select 1 from ${elements.from} where ${elements.of} and ${exact}))`,
    );
  }
  if (attribute.multiValued) return listCondition(scope, located, filter);
  if (attribute.type !== 'complex' || sub !== undefined)
    return singleCondition(scope, located, sub ?? attribute, filter);
  if (filter.kind === 'present') return presence(scope.kind, located);
  const value = attributeNamed(attribute.subAttributes ?? [], 'value') ?? fail('scim_invalid_filter');
  return singleCondition(scope, { ...located, sub: value }, value, filter);
}

function singleCondition(scope: Position, located: Located, leaf: Attribute, filter: Leaf): string {
  const exact = leafCondition(leaf, expressionOf(scope, located), filter, scope.values);
  return among(candidates(scope, located, leaf, filter), exact);
}

/** What to sort by, undefined for a name that there is not. */
export function sortExpression(scope: Scope, path: AttributePath): string | undefined {
  const located = locate(scope.kind, path);
  if (located === undefined || located.attribute.returned === 'never') return undefined;
  const { attribute } = located;
  const leaf = leafOf(located);
  if (leaf === undefined) return undefined;
  const sub = leaf === attribute ? undefined : leaf;
  if (!attribute.multiValued) {
    const expression = expressionOf(scope, { ...located, sub });
    // Ids are in the same order as their texts.
    return expression === 'r.id' ? expression : ordered(leaf, expression);
  }
  const elements = elementsOf(scope, located);
  const first = attributeNamed(attribute.subAttributes ?? [], 'primary');
  const order = first === undefined ? '1' : `coalesce(${elements.part(first)}, false) desc, e.place`;
  return `(select ${ordered(leaf, elements.part(sub))} from ${elements.from} where ${elements.of} order by ${order} limit 1)`;
}

/** What is compared when a path names no part: of something complex its `value`. */
function leafOf({ attribute, sub }: Located): Attribute | undefined {
  if (sub !== undefined) return sub;
  return attribute.type === 'complex' ? attributeNamed(attribute.subAttributes ?? [], 'value') : attribute;
}

function listCondition(scope: Position, located: Located, filter: Leaf): string {
  const { attribute, sub } = located;
  const elements = elementsOf(scope, located);
  if (filter.kind === 'present' && sub === undefined) return `(${elements.isPresent})`;
  const leaf = leafOf(located) ?? fail('scim_invalid_filter');
  if (filter.kind === 'compare' && filter.value === null && sub === undefined)
    return filter.operator === 'eq'
      ? `(not ${elements.isPresent})`
      : filter.operator === 'ne'
        ? `(${elements.isPresent})`
        : fail('scim_invalid_filter');
  const part = elements.part(leaf === attribute ? undefined : leaf);
  const exact = leafCondition(leaf, part, filter, scope.values);
  return among(
    candidates(scope, located, leaf, filter),
    `(exists (select 1 from ${elements.from} where ${elements.of} and ${exact}))`,
  );
}

/** Writes a condition when it is known to be used: a value that nothing refers to is an error. */
type Candidates = (() => string) | undefined;

function among(candidates: Candidates, exact: string): string {
  return candidates === undefined ? exact : `(${candidates()} and ${exact})`;
}

/** A condition that everybody meets who meets the filter, and that an index finds; undefined where there is none. */
function candidates(
  { kind, source, values, isNegated }: Position,
  { attribute, extension }: Located,
  leaf: Attribute,
  filter: Leaf,
): Candidates {
  if (isNegated === true || kind.name !== 'User' || filter.kind === 'present') return undefined;
  if (extension === undefined && unindexed.has(attribute.name)) return undefined;
  const { operator, value } = filter;
  // The lower case of a beginning need not be the beginning of the lower case.
  const isBeginning = operator === 'sw' && !leaf.caseExact;
  if (typeof value !== 'string' || leaf.type === 'boolean' || !(operator === 'eq' || isBeginning))
    return undefined;
  const owner = extension === undefined ? [] : [extension.urn.slice(extension.urn.lastIndexOf(':') + 1)];
  const path = [...owner, attribute.name, ...(leaf === attribute ? [] : [leaf.name])].join('.');
  return () =>
    `r.search @@ scim_search_for(${source}::uuid, '${path}', ${values.add(value)}::text, ${isBeginning})`;
}

/** The same for a filter between brackets, whose names are those of an element's parts. */
function elementCandidates(scope: Position, located: Located, filter: Filter): Candidates {
  if (filter.kind === 'and' || filter.kind === 'or') {
    const parts = filter.of.map((part) => elementCandidates(scope, located, part));
    const known = parts.filter((part) => part !== undefined);
    const isUseless = known.length === 0 || (filter.kind === 'or' && known.length < parts.length);
    return isUseless ? undefined : () => `(${known.map((write) => write()).join(` ${filter.kind} `)})`;
  }
  if (filter.kind === 'not' || filter.kind === 'elements') return undefined;
  const leaf = attributeNamed(located.attribute.subAttributes ?? [], filter.path.name);
  return leaf && candidates(scope, located, leaf, filter);
}

/** The condition on one element `e`: names are those of its parts. */
function elementCondition(
  attribute: Attribute,
  filter: Filter,
  elements: Elements,
  values: SqlValues,
): string {
  if (filter.kind === 'and' || filter.kind === 'or')
    return `(${filter.of.map((part) => elementCondition(attribute, part, elements, values)).join(` ${filter.kind} `)})`;
  if (filter.kind === 'not')
    return `(not coalesce(${elementCondition(attribute, filter.of, elements, values)}, false))`;
  if (filter.kind === 'elements' || filter.path.sub !== undefined || filter.path.urn !== undefined)
    return fail('scim_invalid_filter');
  const leaf = attributeNamed(attribute.subAttributes ?? [], filter.path.name) ?? fail('scim_invalid_filter');
  return leafCondition(leaf, elements.part(leaf), filter, values);
}

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function leafCondition(leaf: Attribute, expression: string, filter: Leaf, values: SqlValues): string {
  if (filter.kind === 'present') return `(${expression} is not null)`;
  const { operator, value } = filter;
  if (value === null) {
    if (operator === 'eq') return `(${expression} is null)`;
    return operator === 'ne' ? `(${expression} is not null)` : fail('scim_invalid_filter');
  }
  if (leaf.type === 'boolean') return booleanCondition(expression, filter, values);
  if (typeof value !== 'string') return fail('scim_invalid_filter');
  if (leaf.type === 'dateTime') return instantCondition(expression, operator, value, values);
  if (isIdentifier(expression) && operator === 'eq' && uuidForm.test(value))
    return `(${expression} = ${values.add(value)}::uuid)`;
  return textCondition(leaf, expression, operator, value, values);
}

function booleanCondition(expression: string, { operator, value }: Compare, values: SqlValues): string {
  // Some directories send "True".
  const word = String(value).toLowerCase();
  if ((operator !== 'eq' && operator !== 'ne') || (word !== 'true' && word !== 'false'))
    return fail('scim_invalid_filter');
  return `(${expression} ${operator === 'eq' ? '=' : 'is distinct from'} ${values.add(word === 'true')}::boolean)`;
}

const comparisons = { eq: '=', ne: 'is distinct from', gt: '>', ge: '>=', lt: '<', le: '<=' } as const;

function instantCondition(
  expression: string,
  operator: Compare['operator'],
  value: string,
  values: SqlValues,
): string {
  const instant = InstantInput.safeParse(value);
  if (!(operator in comparisons) || !instant.success) return fail('scim_invalid_filter');
  const sign = comparisons[operator as keyof typeof comparisons];
  return `(${expression} ${sign} ${values.add(instant.data)}::timestamptz)`;
}

function textCondition(
  leaf: Attribute,
  expression: string,
  operator: Compare['operator'],
  value: string,
  values: SqlValues,
): string {
  const left = ordered(leaf, expression);
  const right = (text: string) => ordered(leaf, `${values.add(text)}::text`);
  const literal = value.replaceAll(/[\\%_]/g, '\\$&');
  if (operator === 'co') return `(${left} like ${right(`%${literal}%`)})`;
  if (operator === 'sw') return `(${left} like ${right(`${literal}%`)})`;
  if (operator === 'ew') return `(${left} like ${right(`%${literal}`)})`;
  if (leaf.type === 'binary' && operator !== 'eq' && operator !== 'ne') return fail('scim_invalid_filter');
  return `(${left} ${comparisons[operator]} ${right(value)})`;
}

/** Texts are compared by code point, so that an index in that order serves, and in lower case unless case matters. */
function ordered(leaf: Attribute, expression: string): string {
  if (leaf.type === 'boolean' || leaf.type === 'dateTime') return expression;
  const text = isIdentifier(expression) ? `${expression}::text` : expression;
  return leaf.caseExact ? `(${text} collate "C")` : `(lower(${text}) collate "C")`;
}

function isIdentifier(expression: string): boolean {
  return expression === 'r.id' || expression === 'e.id';
}

const columns: Readonly<Record<string, string>> = {
  id: 'r.id',
  externalId: 'r.external_id',
  userName: 'r.user_name',
  displayName: 'r.display_name',
  active: 'r.active',
};

/** Attributes of a user whose texts are not in its document. */
const unindexed: ReadonlySet<string> = new Set([...Object.keys(columns), 'meta', 'schemas', 'groups']);

function expressionOf(scope: Scope, { attribute, sub, extension }: Located): string {
  if (extension === undefined && attribute.name === 'meta' && sub !== undefined)
    return metaExpression(scope, sub.name);
  const column = extension === undefined ? columns[attribute.name] : undefined;
  if (column !== undefined) return column;
  const owner = extension === undefined ? 'r.document' : `r.document -> '${extension.urn}'`;
  return sub === undefined
    ? typed(attribute, `(${owner} ->> '${attribute.name}')`)
    : typed(sub, `(${owner} -> '${attribute.name}' ->> '${sub.name}')`);
}

function metaExpression({ kind, values, base }: Scope, name: string): string {
  if (name === 'created') return 'r.created_at';
  if (name === 'lastModified') return 'r.modified_at';
  if (name === 'version') return `('W/"' || r.version || '"')`;
  if (name === 'resourceType') return `'${kind.name}'::text`;
  return `(${values.add(`${base}${kind.endpoint}/`)}::text || r.id)`;
}

function presence(kind: ResourceKind, { attribute, extension }: Located): string {
  if (attribute.name === 'meta') return '(true)';
  const owner = extension === undefined ? 'r.document' : `r.document -> '${extension.urn}'`;
  // Of the groups no other complex attribute is stored than the members.
  return kind.name === 'Group' ? '(false)' : `(${owner} ? '${attribute.name}')`;
}

function elementsOf(scope: Scope, { attribute }: Located): Elements {
  if (attribute.name === 'schemas') return schemasOf(scope.kind);
  if (attribute.name === 'members') return membersOf(scope);
  if (attribute.name === 'groups') return groupsOf(scope);
  return {
    from: `jsonb_array_elements(r.document -> '${attribute.name}') with ordinality as e (item, place)`,
    of: 'true',
    isPresent: `(r.document ? '${attribute.name}')`,
    part: (sub) => (sub === undefined ? `(e.item #>> '{}')` : typed(sub, `(e.item ->> '${sub.name}')`)),
  };
}

const membersOf = (scope: Scope): Elements => ({
  from: 'group_members m join scim_users e on e.principal_id = m.principal_id',
  of: `m.group_id = r.group_id and e.provisioning_source_id = ${scope.source}`,
  isPresent: '(exists (select 1 from group_members m where m.group_id = r.group_id))',
  part: (sub) => partOf(scope, sub, 'e.user_name', 'User'),
});

const groupsOf = (scope: Scope): Elements => ({
  from: 'group_members m join scim_groups e on e.group_id = m.group_id',
  of: `m.principal_id = r.principal_id and e.provisioning_source_id = ${scope.source}`,
  isPresent: `(exists (select 1 from group_members m join scim_groups e on e.group_id = m.group_id
    where m.principal_id = r.principal_id and e.provisioning_source_id = ${scope.source}))`,
  part: (sub) => partOf(scope, sub, 'e.display_name', 'Group'),
});

function partOf(
  { base, values }: Scope,
  sub: Attribute | undefined,
  display: string,
  kind: 'User' | 'Group',
): string {
  if (sub?.name === 'display') return display;
  if (sub?.name === 'type') return `'${kind === 'User' ? 'User' : 'direct'}'::text`;
  if (sub?.name === '$ref') return `(${values.add(`${base}/${kind}s/`)}::text || e.id)`;
  return 'e.id';
}

function schemasOf(kind: ResourceKind): Elements {
  const all =
    kind.name === 'Group'
      ? `array['${kind.core.urn}']`
      : `case when r.document ? '${enterpriseUrn}' then array['${kind.core.urn}', '${enterpriseUrn}'] else array['${kind.core.urn}'] end`;
  return {
    from: `unnest(${all}) with ordinality as e (item, place)`,
    of: 'true',
    isPresent: '(true)',
    part: () => 'e.item',
  };
}

/** Only what was read by the schema is stored, so a boolean is one. */
function typed({ type }: Attribute, text: string): string {
  return type === 'boolean' ? `(${text})::boolean` : text;
}
