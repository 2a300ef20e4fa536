import { queryBuilder } from '@baton/kernel/database/db';
import { fragment, type ListOrder, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { QueuePosition } from '../../service/queue-walk.ts';
import type { ApprovalRow } from '../../work/gates/gates.ts';
import type { TaskRow } from '../../work/tasks/task.ts';
import type {
  AttemptCheck,
  AttemptRow,
  CheckResult,
  ListedAttemptRow,
  NotCounted,
} from '../../work/verifications/attempt.ts';

const build = queryBuilder<{ verifications: AttemptRow }>();

/** The attempt number only ever increases, and is part of the index on the task's attempts. */
const newestFirst: ListOrder<ListedAttemptRow> = {
  cursor: 'verifications',
  columns: { attempt: 'integer' },
  direction: 'desc',
};

/** Maximum length of a description in a list: a page may contain 200 attempts, each with 132 or more checks. */
const descriptionCharactersMax = 200;

/** The checks for a list, without their specs of up to 16 KiB each. */
const shownChecks = fragment<AttemptCheck[]>`(
  select coalesce(jsonb_agg(jsonb_build_object('key', c ->> 'key', 'kind', c ->> 'kind', 'source', c ->> 'source',
    'description', left(c ->> 'description', ${descriptionCharactersMax}::integer)) order by n), '[]')
  from jsonb_array_elements(checks) with ordinality as item (c, n))`;

export function findAttempts(tenantId: string, taskId: string, page: Page) {
  const query = build
    .selectFrom('verifications')
    .select([
      'id',
      'tenant_id',
      'task_id',
      'authority_principal_id',
      'attempt',
      'status',
      'trigger',
      'trigger_ref',
      'results',
      'cursor',
      'skill_invocation_id',
      'approval_id',
      'next_check_at',
      'finished_at',
      'started_at',
      'updated_at',
      'not_counted',
    ])
    .select(shownChecks.as('checks'))
    .where('tenant_id', '=', tenantId)
    .where('task_id', '=', taskId);
  return pageQuery(query, newestFirst, page);
}

export type DueAttemptRow = Pick<AttemptRow, 'id' | 'tenant_id'> & { next_check_at: string };

/** Pending attempts, longest overdue first; each is checked again under its task's lock. */
export function findDueAttempts([nextCheckAt, id]: QueuePosition, rowsMax: number) {
  return sql<DueAttemptRow>`
    select id, tenant_id, next_check_at from verifications
    where next_check_at is not null and next_check_at <= now()
      and (next_check_at, id) > (${nextCheckAt}::timestamptz, ${id}::uuid)
    order by next_check_at, id limit ${rowsMax}`;
}

/** Locks the task of an attempt; returns no row while another transaction has it locked: the attempt stays due. */
export function lockFreeTaskOfAttempt(tenantId: string, attemptId: string) {
  return sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id
    from tasks t join task_types tt on tt.id = t.type_id
    where t.id = (select task_id from verifications where id = ${attemptId} and tenant_id = ${tenantId})
      and t.tenant_id = ${tenantId}
    for no key update of t skip locked`;
}

/** An attempt, and the time that its current check has waited. */
export type JudgedAttemptRow = AttemptRow & { waited_seconds: number };

export function findAttempt(tenantId: string, attemptId: string) {
  return sql<JudgedAttemptRow>`
    select v.*, coalesce(extract(epoch from clock_timestamp() - v.waiting_since), 0)::float8 as waited_seconds
    from verifications v where v.id = ${attemptId} and v.tenant_id = ${tenantId}`;
}

/** The fields of an attempt that an evaluation changes. */
export interface AttemptProgress {
  status: AttemptRow['status'];
  checks: readonly AttemptCheck[];
  results: readonly CheckResult[];
  /** The approval that the current check requested. */
  approvalId: string | null;
  /** The call that the current check waits for. */
  skillInvocationId: string | null;
  /** Seconds until the next evaluation; null for an attempt that ends. */
  lookAgainSeconds: number | null;
  /** Whether the check was already waiting; if so, the same wait continues. */
  waitGoesOn: boolean;
  notCounted: readonly NotCounted[];
}

/** Writes the state of an attempt, under its task's lock. */
export function updateAttempt(tenantId: string, attemptId: string, progress: AttemptProgress) {
  const isOver = progress.lookAgainSeconds === null;
  return sql<AttemptRow>`
    update verifications
    set status = ${progress.status}, checks = ${JSON.stringify(progress.checks)}, results = ${JSON.stringify(progress.results)},
      cursor = ${progress.results.length}, approval_id = ${progress.approvalId},
      owns_approval = ${progress.approvalId !== null}, skill_invocation_id = ${progress.skillInvocationId}::uuid,
      not_counted = ${JSON.stringify(progress.notCounted)},
      waiting_since = case when ${isOver} then null when ${progress.waitGoesOn} then waiting_since else clock_timestamp() end,
      next_check_at = case when not ${isOver} then clock_timestamp() + make_interval(secs => ${progress.lookAgainSeconds ?? 0}) end,
      updated_at = now(), finished_at = case when ${isOver} then now() end
    where id = ${attemptId} and tenant_id = ${tenantId}
    returning *`;
}

/** Postpones the next evaluation of an attempt, without restarting the timeout of its wait. */
export function updateNextLook(
  tenantId: string,
  attemptId: string,
  seconds: number,
  notCounted: readonly NotCounted[],
) {
  return sql`
    update verifications
    set next_check_at = clock_timestamp() + make_interval(secs => ${seconds}), not_counted = ${JSON.stringify(notCounted)}
    where id = ${attemptId} and tenant_id = ${tenantId}`;
}

/** Schedules no further evaluation of an attempt that ends. */
export function updateAttemptToSettled(tenantId: string, attemptId: string) {
  return sql`
    update verifications set next_check_at = null
    where id = ${attemptId} and tenant_id = ${tenantId}`;
}

type AttemptOfTask = Pick<AttemptRow, 'id' | 'task_id'>;

/** The newest approval that an attempt has requested for a check, if any. */
export function findNewestOfCheck(tenantId: string, { id, task_id }: AttemptOfTask, key: string) {
  return sql<ApprovalRow>`
    select * from approvals
    where task_id = ${task_id} and verification_id = ${id} and check_key = ${key} and tenant_id = ${tenantId}
    order by created_at desc, id desc limit 1`;
}

/** The newest approval for each check of an attempt, if that approval was not granted. */
export function findRefusedChecks(tenantId: string, { id, task_id }: AttemptOfTask) {
  return sql<ApprovalRow>`
    select a.* from (
      select distinct on (check_key) id from approvals
      where task_id = ${task_id} and verification_id = ${id} and tenant_id = ${tenantId}
      order by check_key, created_at desc, id desc
    ) newest join approvals a on a.id = newest.id
    where a.status in ('rejected', 'cancelled')
    order by a.created_at, a.id`;
}

/** The number of failed attempts of a task since the last passed one. */
export function countFailuresInRow(tenantId: string, taskId: string) {
  return sql<{ failures: number }>`
    select count(*)::int as failures from verifications
    where task_id = ${taskId} and tenant_id = ${tenantId} and status = 'failed' and attempt > coalesce((
      select max(attempt) from verifications where task_id = ${taskId} and status = 'passed'), 0)`;
}

/** Moves a locked task whose verification has failed, or keeps its status; increments its version in either case. */
export function updateTaskToUnverified(tenantId: string, taskId: string, status: string, category: string) {
  return sql<TaskRow>`
    update tasks t
    set status = ${status}, category = ${category}, version = t.version + 1, updated_at = now()
    from task_types tt
    where t.id = ${taskId} and t.tenant_id = ${tenantId} and tt.id = t.type_id
    returning t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id`;
}

/** An active person who holds a role in the whole tenant, in a workspace, or in an ancestor, and is not barred. */
export function findRoleHolder(
  tenantId: string,
  roleId: string,
  workspaceId: string | null,
  barred: readonly string[],
) {
  return sql<{ id: string }>`
    select p.id from role_assignments a join principals p on p.id = a.principal_id
    where a.role_id = ${roleId} and a.tenant_id = ${tenantId} and p.kind = 'human' and p.status = 'active'
      and p.id <> all (${barred}::uuid[])
      and (a.workspace_id is null or a.workspace_id = any (
        (select path from workspaces where id = ${workspaceId}::uuid and tenant_id = ${tenantId})::uuid[]))
    limit 1`;
}

export interface OutputRow {
  id: string;
  media_type: string | null;
  has_content: boolean;
}

/** A task's newest artifacts of a type, without superseded ones. */
export function findOutputs(tenantId: string, taskId: string, type: string, rowsMax: number) {
  return sql<OutputRow>`
    select a.id, case when a.content_state = 'stored' then a.media_type when a.content is not null then 'application/json' end
        as media_type, a.content_state = 'stored' or a.content is not null as has_content
    from artifacts a
    where a.tenant_id = ${tenantId} and a.task_id = ${taskId} and a.type = ${type}
      and not exists (select from artifacts newer where newer.supersedes_artifact_id = a.id)
    order by a.created_at desc, a.id desc limit ${rowsMax}`;
}
