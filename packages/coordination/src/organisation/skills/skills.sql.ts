import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { JsonObject } from '@baton/values/wire';
import type { SkillRow } from './skill.ts';
import type { SkillContract } from './skill-contract.ts';

export interface NewSkill {
  id: string;
  tenantId: string;
  name: string;
  version: string;
  description: string;
  protocol: string;
  config: JsonObject;
  inputSchema: JsonObject | null;
  outputSchema: JsonObject | null;
  sideEffects: string | null;
  riskLevel: string | null;
  contract: SkillContract | null;
  target: string;
  audience: string;
}

const jsonOf = (document: object | null) => (document === null ? null : JSON.stringify(document));

/** Returns no row when the tenant already has this version of the skill. */
export function insertSkill(skill: NewSkill) {
  return sql<SkillRow>`
    insert into skills (id, tenant_id, name, version, description, protocol, config, input_schema, output_schema,
      side_effects, risk_level, contract, target, audience)
    values (${skill.id}, ${skill.tenantId}, ${skill.name}, ${skill.version}, ${skill.description}, ${skill.protocol},
      ${JSON.stringify(skill.config)}, ${jsonOf(skill.inputSchema)}, ${jsonOf(skill.outputSchema)}, ${skill.sideEffects},
      ${skill.riskLevel}, ${jsonOf(skill.contract)}, ${skill.target}, ${skill.audience})
    on conflict (tenant_id, name, version) do nothing
    returning *`;
}

export function findSkill(tenantId: string, id: string) {
  return sql<SkillRow>`select * from skills where id = ${id} and tenant_id = ${tenantId}`;
}

export function findSkillOfVersion(tenantId: string, name: string, version: string) {
  return sql<SkillRow>`
    select * from skills where tenant_id = ${tenantId} and name = ${name} and version = ${version}`;
}

export type PinnedSkillRow = Pick<
  SkillRow,
  'id' | 'name' | 'version' | 'status' | 'protocol' | 'side_effects'
> & {
  has_contract: boolean;
};

export function findSkillsOfVersions(
  tenantId: string,
  names: readonly string[],
  versions: readonly string[],
) {
  return sql<PinnedSkillRow>`
    select s.id, s.name, s.version, s.status, s.protocol, s.side_effects, s.contract is not null as has_contract
    from unnest(${names}::text[], ${versions}::text[]) as asked (name, version)
    join skills s on s.tenant_id = ${tenantId} and s.name = asked.name and s.version = asked.version`;
}

/** The newest active version of a name, or, if none is active, the newest that isn't disabled. */
export function findNewestSkill(tenantId: string, name: string) {
  return sql<SkillRow>`
    select * from skills where tenant_id = ${tenantId} and name = ${name} and status <> 'disabled'
    order by status = 'active' desc, created_at desc, id desc limit 1`;
}

export function lockSkill(tenantId: string, id: string) {
  return sql<SkillRow>`select * from skills where id = ${id} and tenant_id = ${tenantId} for no key update`;
}

/** Locks the status of a skill until the commit. */
export function shareSkill(tenantId: string, id: string) {
  return sql<SkillRow>`select * from skills where id = ${id} and tenant_id = ${tenantId} for share`;
}

export type SkillValues = Pick<SkillRow, 'description' | 'status' | 'contract' | 'target' | 'audience'>;

export function updateSkillValues(tenantId: string, id: string, values: SkillValues) {
  return sql<SkillRow>`
    update skills
    set description = ${values.description}, status = ${values.status}, contract = ${jsonOf(values.contract)},
      target = ${values.target}, audience = ${values.audience}, row_version = row_version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

const build = queryBuilder<{ skills: SkillRow }>();

const newestFirst: ListOrder<SkillRow> = {
  cursor: 'skills',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export function findSkills(
  tenantId: string,
  filter: { [Column in 'name' | 'status' | 'package_key']: string | undefined },
  page: Page,
) {
  const query = build.selectFrom('skills').selectAll().where('tenant_id', '=', tenantId);
  return pageQuery(matching(query, filter), newestFirst, page);
}
