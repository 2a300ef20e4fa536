import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, matching } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import { type SeenList, seenByPlace } from '../../service/sight/places.ts';
import type { AgentGrants, AgentRow, RevisionRow, RevisionSource } from './agent.ts';
import type { AgentSpec } from './agent-spec.ts';

/** Fields of an agent from its current spec. */
export interface SpecifiedValues {
  readonly kind: AgentRow['kind'];
  readonly displayName: string;
  readonly state: AgentRow['state'];
  readonly replicas: number;
  readonly workspaceId: string | null;
  readonly work: AgentSpec['work'] | null;
}

const jsonOf = (document: object | null | undefined) => (document == null ? null : JSON.stringify(document));

export type NewAgent = SpecifiedValues & {
  readonly id: string;
  readonly tenantId: string;
  readonly key: string;
  readonly createdBy: string;
};

/**
 * Inserts a new key; returns no row if the key was ever used. A concurrent insert of the same key waits for the
 * commit.
 */
export function insertAgent(agent: NewAgent) {
  return sql<AgentRow>`
    insert into agents (id, tenant_id, key, kind, display_name, state, replicas, current_revision, workspace_id, work, created_by)
    values (${agent.id}, ${agent.tenantId}, ${agent.key}, ${agent.kind}, ${agent.displayName}, ${agent.state},
      ${agent.replicas}, 1, ${agent.workspaceId}, ${jsonOf(agent.work)}, ${agent.createdBy})
    on conflict (tenant_id, key) do nothing
    returning *`;
}

export function findAgent(tenantId: string, key: string) {
  return sql<AgentRow>`select * from agents where tenant_id = ${tenantId} and key = ${key}`;
}

/** The calling agent, by its id. */
export function findAgentById(tenantId: string, id: string) {
  return sql<AgentRow>`select * from agents where id = ${id} and tenant_id = ${tenantId}`;
}

export function lockAgent(tenantId: string, key: string) {
  return sql<AgentRow>`select * from agents where tenant_id = ${tenantId} and key = ${key} for no key update`;
}

export function updateSpecifiedValues(
  tenantId: string,
  id: string,
  values: SpecifiedValues & { currentRevision: number },
) {
  return sql<AgentRow>`
    update agents
    set kind = ${values.kind}, display_name = ${values.displayName}, state = ${values.state}, replicas = ${values.replicas},
      workspace_id = ${values.workspaceId}, work = ${jsonOf(values.work)}, current_revision = ${values.currentRevision}, version = version + 1,
      updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export function updateAgentState(
  tenantId: string,
  id: string,
  { state, replicas }: Pick<AgentRow, 'state' | 'replicas'>,
) {
  return sql<AgentRow>`
    update agents set state = ${state}, replicas = ${replicas}, version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export function updateAgentToRetired(tenantId: string, id: string, by: string, reason: string) {
  return sql<AgentRow>`
    update agents
    set status = 'retired', state = 'stopped', retired_at = now(), retired_by = ${by}, retired_reason = ${reason},
      version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export interface NewRevision {
  readonly id: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly revision: number;
  readonly spec: AgentSpec;
  readonly specHash: string;
  readonly grants: AgentGrants;
  readonly changedFields: readonly string[] | null;
  readonly specBytes: number;
  readonly source: RevisionSource;
  readonly createdBy: string;
}

export function insertRevision(made: NewRevision) {
  return sql`
    insert into agent_revisions (id, tenant_id, agent_id, revision, spec, spec_hash, grants, changed_fields, spec_bytes,
      source, created_by)
    values (${made.id}, ${made.tenantId}, ${made.agentId}, ${made.revision}, ${JSON.stringify(made.spec)},
      ${made.specHash}, ${JSON.stringify(made.grants)}, ${made.changedFields}, ${made.specBytes},
      ${JSON.stringify(made.source)}, ${made.createdBy})`;
}

export function findRevision(tenantId: string, agentId: string, revision: number) {
  return sql<RevisionRow>`
    select r.*, a.key as agent_key from agent_revisions r join agents a on a.id = r.agent_id
    where r.agent_id = ${agentId} and r.revision = ${revision} and r.tenant_id = ${tenantId}`;
}

/** The newest revisions whose specs fit into this total size, but at least one revision. */
export function findRevisions(
  tenantId: string,
  agentId: string,
  { before, rowsMax, bytesMax }: { before: number; rowsMax: number; bytesMax: number },
) {
  return sql<RevisionRow>`
    with newest as (
      select id, sum(spec_bytes) over (order by revision desc) - spec_bytes as bytes_before
      from (
        select id, revision, spec_bytes from agent_revisions
        where agent_id = ${agentId} and tenant_id = ${tenantId} and revision < ${before}
        order by revision desc limit ${rowsMax}
      ) as page
    )
    select r.*, a.key as agent_key
    from newest join agent_revisions r on r.id = newest.id join agents a on a.id = r.agent_id
    where newest.bytes_before < ${bytesMax}
    order by r.revision desc`;
}

const build = queryBuilder<{ agents: AgentRow }>();

const newestFirst: ListOrder<AgentRow> = {
  cursor: 'agents',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

type FilterColumn = 'status' | 'state' | 'workspace_id' | 'package_key';
export type AgentFilter = { readonly [Column in FilterColumn]: string | undefined };

export function listOfAgents(tenantId: string, filter: AgentFilter): SeenList<AgentRow> {
  const foundIn = (source: 'agents') =>
    matching(build.selectFrom(source).selectAll().where('tenant_id', '=', tenantId), filter);
  return seenByPlace(tenantId, 'agents', foundIn, newestFirst);
}
