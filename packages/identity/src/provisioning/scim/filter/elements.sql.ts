import { fail } from '../../errors.ts';
import { type Attribute, attributeNamed, type ResourceKind } from '../protocol/attributes.ts';
import { enterpriseUrn } from '../protocol/schemas.ts';
import { comparisonCondition } from './comparison.sql.ts';
import { castToType } from './expression.sql.ts';
import type { Filter } from './filter-grammar.ts';
import type { Scope, SqlValues } from './sql-scope.ts';

/**
 * A list of a resource as rows `e`, one per element. Lists are stored in four ways:
 *
 * | list                   | rows                                                       |
 * | ---------------------- | ---------------------------------------------------------- |
 * | `emails` and the like  | the JSON list in `r.document`                              |
 * | `members` of a group   | `group_members`, joined with the users of the source       |
 * | `groups` of a user     | `group_members`, joined with the groups of the source      |
 * | `schemas`              | computed: the core, and the extension that the user has    |
 */
export interface Elements {
  readonly from: string;
  /**
   * The condition for rows that belong to `r`. It is in the same `where` of the subquery as the filter, so that
   * PostgreSQL can start with either of them.
   */
  readonly of: string;
  /** Whether the list has any element. */
  readonly isPresent: string;
  /** The expression for a part of one element or, if no part is given, for the element itself. */
  part(sub: Attribute | undefined): string;
}

export function elementsOf(scope: Scope, { name }: Attribute): Elements {
  if (name === 'schemas') return schemasOf(scope.kind);
  if (name === 'members') return membersOf(scope);
  if (name === 'groups') return groupsOf(scope);
  return {
    from: `jsonb_array_elements(r.document -> '${name}') with ordinality as e (item, place)`,
    of: 'true',
    isPresent: `(r.document ? '${name}')`,
    part: (sub) => (sub === undefined ? `(e.item #>> '{}')` : castToType(sub, `(e.item ->> '${sub.name}')`)),
  };
}

/** The condition that at least one element matches. */
export function someElement(elements: Elements, condition: string): string {
  return `(exists (select 1 from ${elements.from} where ${elements.of} and ${condition}))`;
}

/**
 * The condition for a filter in brackets, `emails[type eq "work" and primary eq true]`, on one element. Its names refer
 * to the element's parts.
 * @throws Refusal `scim_invalid_filter` for an unknown name, or for nested brackets
 */
export function elementCondition(
  attribute: Attribute,
  elements: Elements,
  filter: Filter,
  values: SqlValues,
): string {
  const inner = (part: Filter) => elementCondition(attribute, elements, part, values);
  if (filter.kind === 'and' || filter.kind === 'or')
    return `(${filter.of.map(inner).join(` ${filter.kind} `)})`;
  if (filter.kind === 'not') return `(not coalesce(${inner(filter.of)}, false))`;
  if (filter.kind === 'elements' || filter.path.sub !== undefined || filter.path.urn !== undefined)
    return fail('scim_invalid_filter');
  const leaf = attributeNamed(attribute.subAttributes ?? [], filter.path.name) ?? fail('scim_invalid_filter');
  return comparisonCondition(leaf, elements.part(leaf), filter, values);
}

function membersOf(scope: Scope): Elements {
  return {
    from: 'group_members m join scim_users e on e.principal_id = m.principal_id',
    of: `m.group_id = r.group_id and e.provisioning_source_id = ${scope.source}`,
    isPresent: '(exists (select 1 from group_members m where m.group_id = r.group_id))',
    part: referencePart(scope, { display: 'e.user_name', type: 'User', endpoint: '/Users' }),
  };
}

function groupsOf(scope: Scope): Elements {
  return {
    from: 'group_members m join scim_groups e on e.group_id = m.group_id',
    of: `m.principal_id = r.principal_id and e.provisioning_source_id = ${scope.source}`,
    isPresent: `(exists (select 1 from group_members m join scim_groups e on e.group_id = m.group_id
    where m.principal_id = r.principal_id and e.provisioning_source_id = ${scope.source}))`,
    part: referencePart(scope, { display: 'e.display_name', type: 'direct', endpoint: '/Groups' }),
  };
}

/** The parts of a member, and of a group that a user is in; `value` is the id. */
function referencePart(
  { base, values }: Scope,
  { display, type, endpoint }: { display: string; type: string; endpoint: string },
) {
  return (sub: Attribute | undefined): string => {
    if (sub?.name === 'display') return display;
    if (sub?.name === 'type') return `'${type}'::text`;
    if (sub?.name === '$ref') return `(${values.add(`${base}${endpoint}/`)}::text || e.id)`;
    return 'e.id';
  };
}

function schemasOf({ name, core }: ResourceKind): Elements {
  const urns =
    name === 'Group'
      ? `array['${core.urn}']`
      : `case when r.document ? '${enterpriseUrn}' then array['${core.urn}', '${enterpriseUrn}'] else array['${core.urn}'] end`;
  return {
    from: `unnest(${urns}) with ordinality as e (item, place)`,
    of: 'true',
    isPresent: '(true)',
    part: () => 'e.item',
  };
}
