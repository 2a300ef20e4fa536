import { type Statement, sql } from '@baton/kernel/database/sql';

/** The task or workspace of an object, and its owner. */
export interface AnchorRow {
  readonly id: string;
  readonly task_id: string | null;
  readonly workspace_id: string | null;
  readonly person_id: string | null;
}

type FindAnchors = (tenantId: string, ids: readonly string[]) => Statement<AnchorRow>;

/** The anchors of the objects of each kind, in this tenant only. */
export const anchorsOf = {
  claim: (tenantId, ids) => sql<AnchorRow>`
    select id, task_id, null::uuid as workspace_id, null::uuid as person_id
    from claims where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`,
  run: (tenantId, ids) => sql<AnchorRow>`
    select id, task_id, null::uuid as workspace_id, principal_id as person_id
    from runs where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`,
  approval: (tenantId, ids) => sql<AnchorRow>`
    select id, task_id, workspace_id, requested_by_principal_id as person_id
    from approvals where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`,
  artifact: (tenantId, ids) => sql<AnchorRow>`
    select id, task_id, workspace_id, null::uuid as person_id
    from artifacts where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`,
  context_pack: (tenantId, ids) => sql<AnchorRow>`
    select id, task_id, null::uuid as workspace_id, null::uuid as person_id
    from context_packs where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`,
  goal: (tenantId, ids) => sql<AnchorRow>`
    select id, null::uuid as task_id, workspace_id, null::uuid as person_id
    from goals where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`,
  workspace: (tenantId, ids) => sql<AnchorRow>`
    select id, null::uuid as task_id, id as workspace_id, null::uuid as person_id
    from workspaces where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`,
  child_handle: (tenantId, ids) => sql<AnchorRow>`
    select id, parent_task_id as task_id, null::uuid as workspace_id, null::uuid as person_id
    from child_handles where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`,
  project: (tenantId, ids) => sql<AnchorRow>`
    select id, null::uuid as task_id, workspace_id, owner_principal_id as person_id
    from projects where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`,
  rule: (tenantId, ids) => sql<AnchorRow>`
    select id, null::uuid as task_id, workspace_id, null::uuid as person_id
    from rules where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`,
  process_instance: (tenantId, ids) => sql<AnchorRow>`
    select id, null::uuid as task_id, workspace_id, null::uuid as person_id
    from process_instances where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`,
  rule_evaluation: (tenantId, ids) => sql<AnchorRow>`
    select id, null::uuid as task_id, workspace_id, null::uuid as person_id
    from rule_evaluations where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`,
} as const satisfies Record<string, FindAnchors>;

export interface PlacedTaskRow {
  readonly id: string;
  readonly workspace_id: string | null;
  readonly owner_id: string | null;
  readonly assignee_id: string | null;
  readonly created_by: string;
}

export function findPlacedTasks(tenantId: string, ids: readonly string[]) {
  return sql<PlacedTaskRow>`
    select id, workspace_id, owner_id, assignee_id, created_by
    from tasks where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`;
}

/** Finds the object of an external reference. */
export function findReferenced(tenantId: string, id: string) {
  return sql<{ entity_type: string; entity_id: string }>`
    select entity_type, entity_id from external_references where id = ${id} and tenant_id = ${tenantId}`;
}

/** Finds the workspace of the latest version of a process. */
export function findPlaceOfProcess(tenantId: string, key: string) {
  return sql<{ workspace_id: string | null }>`
    select workspace_id from process_definitions where tenant_id = ${tenantId} and key = ${key} and is_latest`;
}

export function findTaskOfNumber(tenantId: string, number: number) {
  return sql<{ id: string }>`
    select id from tasks where public_number = ${number}::bigint and tenant_id = ${tenantId}`;
}

/** Workspaces with all their ancestors, from the root to the workspace itself. */
export function findPaths(tenantId: string, ids: readonly string[]) {
  return sql<{ id: string; path: string[] }>`
    select id, path from workspaces where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`;
}

/** The identities bound to principals; if a principal has several live bindings, the first one. */
export function findIdentities(tenantId: string, principalIds: readonly string[]) {
  return sql<{ principal_id: string; iam_principal_id: string }>`
    select distinct on (principal_id) principal_id, iam_principal_id from iam_bindings
    where principal_id = any (${principalIds}::uuid[]) and tenant_id = ${tenantId} and status = 'active'
    order by principal_id, created_at, id`;
}
