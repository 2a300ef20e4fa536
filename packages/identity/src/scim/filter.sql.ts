import { InstantInput } from '@baton/kernel/wire';
import { fail } from '../service.ts';
import type { Filter } from './filter-grammar.ts';
import {
  type Attribute,
  type AttributePath,
  enterpriseUrn,
  type Located,
  locate,
  named,
  type ResourceKind,
} from './schemas.ts';

/**
 * Filters as SQL over one row `r` of scim_users or scim_groups. Every value that a client sent is a parameter; the only
 * texts are names from the schemas. What is absent is null, which matches nothing except `ne` and `not`.
 */

/** A statement that grows: `$1`, `$2`… for its values. */
export class SqlValues {
  readonly values: unknown[] = [];

  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

type Compare = Extract<Filter, { kind: 'compare' }>;

/** A list as rows `e`, and how to get at a part of one. */
interface Elements {
  readonly from: string;
  readonly isPresent: string;
  part(sub: Attribute | undefined): string;
}

/** The condition that a filter stands for. @throws Refusal `scim_invalid_filter` */
export function filterCondition(kind: ResourceKind, filter: Filter, values: SqlValues, base: string): string {
  const within = (part: Filter) => filterCondition(kind, part, values, base);
  if (filter.kind === 'and' || filter.kind === 'or')
    return `(${filter.of.map(within).join(` ${filter.kind} `)})`;
  if (filter.kind === 'not') return `(not coalesce(${within(filter.of)}, false))`;
  const located = locate(kind, filter.path) ?? fail('scim_invalid_filter');
  if (located.attribute.returned === 'never') fail('scim_invalid_filter');
  if (filter.kind === 'elements') {
    if (!located.attribute.multiValued || located.attribute.subAttributes === undefined)
      fail('scim_invalid_filter');
    const elements = elementsOf(kind, located);
    return `(exists (select 1 from ${elements.from} where ${elementCondition(located.attribute, filter.of, elements, values)}))`;
  }
  if (located.attribute.multiValued) return listCondition(kind, located, filter, values);
  const { attribute, sub } = located;
  if (attribute.type === 'complex' && sub === undefined) {
    if (filter.kind === 'present') return presence(kind, located);
    const value = named(attribute.subAttributes ?? [], 'value') ?? fail('scim_invalid_filter');
    return leafCondition(value, expressionOf(kind, { ...located, sub: value }, values, base), filter, values);
  }
  return leafCondition(sub ?? attribute, expressionOf(kind, located, values, base), filter, values);
}

/** What to sort by, undefined for a name that there is not. */
export function sortExpression(
  kind: ResourceKind,
  path: AttributePath,
  values: SqlValues,
  base: string,
): string | undefined {
  const located = locate(kind, path);
  if (located === undefined || located.attribute.returned === 'never') return undefined;
  const { attribute, sub } = located;
  const leaf =
    sub ?? (attribute.type === 'complex' ? named(attribute.subAttributes ?? [], 'value') : attribute);
  if (leaf === undefined) return undefined;
  if (!attribute.multiValued)
    return ordered(
      leaf,
      expressionOf(kind, { ...located, sub: leaf === attribute ? undefined : leaf }, values, base),
    );
  const elements = elementsOf(kind, located);
  const first = named(attribute.subAttributes ?? [], 'primary');
  const order = first === undefined ? '1' : `coalesce(${elements.part(first)}, false) desc, e.place`;
  return `(select ${ordered(leaf, elements.part(leaf === attribute ? undefined : leaf))} from ${elements.from} order by ${order} limit 1)`;
}

function listCondition(
  kind: ResourceKind,
  located: Located,
  filter: Exclude<Filter, { kind: 'and' | 'or' | 'not' | 'elements' }>,
  values: SqlValues,
): string {
  const { attribute, sub } = located;
  const elements = elementsOf(kind, located);
  if (filter.kind === 'present' && sub === undefined) return `(${elements.isPresent})`;
  const leaf =
    sub ?? (attribute.type === 'complex' ? named(attribute.subAttributes ?? [], 'value') : attribute);
  if (leaf === undefined) return fail('scim_invalid_filter');
  if (filter.kind === 'compare' && filter.value === null && sub === undefined)
    return filter.operator === 'eq'
      ? `(not ${elements.isPresent})`
      : filter.operator === 'ne'
        ? `(${elements.isPresent})`
        : fail('scim_invalid_filter');
  const condition = leafCondition(leaf, elements.part(leaf === attribute ? undefined : leaf), filter, values);
  return `(exists (select 1 from ${elements.from} where ${condition}))`;
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
  const leaf = named(attribute.subAttributes ?? [], filter.path.name) ?? fail('scim_invalid_filter');
  return leafCondition(leaf, elements.part(leaf), filter, values);
}

function leafCondition(
  leaf: Attribute,
  expression: string,
  filter: Compare | Extract<Filter, { kind: 'present' }>,
  values: SqlValues,
): string {
  if (filter.kind === 'present') return `(${expression} is not null)`;
  const { operator, value } = filter;
  if (value === null) {
    if (operator === 'eq') return `(${expression} is null)`;
    return operator === 'ne' ? `(${expression} is not null)` : fail('scim_invalid_filter');
  }
  if (leaf.type === 'boolean') return booleanCondition(expression, filter, values);
  if (typeof value !== 'string') return fail('scim_invalid_filter');
  if (leaf.type === 'dateTime') return instantCondition(expression, operator, value, values);
  if (expression === 'r.id' && operator === 'eq' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value))
    return `(r.id = ${values.add(value)}::uuid)`;
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
  const text = expression === 'r.id' ? 'r.id::text' : expression;
  return leaf.caseExact ? `(${text} collate "C")` : `(lower(${text}) collate "C")`;
}

const columns: Readonly<Record<string, string>> = {
  id: 'r.id',
  externalId: 'r.external_id',
  userName: 'r.user_name',
  displayName: 'r.display_name',
  active: 'r.active',
};

function expressionOf(kind: ResourceKind, located: Located, values: SqlValues, base: string): string {
  const { attribute, sub, extension } = located;
  if (extension === undefined && attribute.name === 'meta' && sub !== undefined)
    return metaExpression(kind, sub.name, values, base);
  const column = extension === undefined ? columns[attribute.name] : undefined;
  if (column !== undefined) return column;
  const owner = extension === undefined ? 'r.document' : `r.document -> '${extension.urn}'`;
  return sub === undefined
    ? typed(attribute, `(${owner} ->> '${attribute.name}')`)
    : typed(sub, `(${owner} -> '${attribute.name}' ->> '${sub.name}')`);
}

function metaExpression(kind: ResourceKind, name: string, values: SqlValues, base: string): string {
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

function elementsOf(kind: ResourceKind, { attribute }: Located): Elements {
  if (attribute.name === 'schemas') return schemasOf(kind);
  if (attribute.name === 'members') return membersOf;
  if (attribute.name === 'groups') return groupsOf;
  return {
    from: `jsonb_array_elements(r.document -> '${attribute.name}') with ordinality as e (item, place)`,
    isPresent: `(r.document ? '${attribute.name}')`,
    part: (sub) => (sub === undefined ? `(e.item #>> '{}')` : typed(sub, `(e.item ->> '${sub.name}')`)),
  };
}

const membersOf: Elements = {
  from: `(select u.id, u.user_name, row_number() over () as place from group_members m
    join scim_users u on u.principal_id = m.principal_id and u.provisioning_source_id = r.provisioning_source_id
    where m.group_id = r.group_id) e`,
  isPresent: '(exists (select 1 from group_members m where m.group_id = r.group_id))',
  part: (sub) => partOf(sub, 'e.user_name', 'User', 'User'),
};

const groupsOf: Elements = {
  from: `(select g.id, g.display_name, row_number() over () as place from group_members m
    join scim_groups g on g.group_id = m.group_id and g.provisioning_source_id = r.provisioning_source_id
    where m.principal_id = r.principal_id) e`,
  isPresent: `(exists (select 1 from group_members m join scim_groups g on g.group_id = m.group_id
    where m.principal_id = r.principal_id and g.provisioning_source_id = r.provisioning_source_id))`,
  part: (sub) => partOf(sub, 'e.display_name', 'direct', 'Group'),
};

function partOf(sub: Attribute | undefined, display: string, type: string, _kind: string): string {
  if (sub?.name === 'display') return display;
  if (sub?.name === 'type') return `'${type}'::text`;
  if (sub?.name === '$ref') return fail('scim_invalid_filter');
  return 'e.id::text';
}

function schemasOf(kind: ResourceKind): Elements {
  const all =
    kind.name === 'Group'
      ? `array['${kind.core.urn}']`
      : `case when r.document ? '${enterpriseUrn}' then array['${kind.core.urn}', '${enterpriseUrn}'] else array['${kind.core.urn}'] end`;
  return {
    from: `unnest(${all}) with ordinality as e (item, place)`,
    isPresent: '(true)',
    part: () => 'e.item',
  };
}

/** Only what was read by the schema is stored, so a boolean is one. */
function typed({ type }: Attribute, text: string): string {
  return type === 'boolean' ? `(${text})::boolean` : text;
}
