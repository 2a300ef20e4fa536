import { sql } from '@baton/kernel/sql';
import type { JournalPosition } from '../../ledger/journal/cursor.ts';
import type { QueuePosition } from '../../service/queue-walk.ts';
import type { RuleRow } from '../rules/rule.ts';

/** Where a tenant's rules have come to in its journal, and how often the next event broke them. */
export interface TurnRow extends JournalPosition {
  failure_count: number;
  parked_event_id: string | null;
}

/**
 * Tenants with stable events behind the cursor of their rules, the least recently served first. A tenant without rules has no
 * cursor; one whose turn failed waits, and those that this process has put off are left out.
 */
export function findDueTenants(consumer: string, except: readonly string[], tenantsMax: number) {
  return sql<{ tenant_id: string }>`
    with horizon as materialized (select journal_horizon() as position)
    select c.tenant_id from event_consumers c cross join horizon h
    where c.consumer = ${consumer} and c.tenant_id <> all (${except}::uuid[]) and (c.next_attempt_at is null or c.next_attempt_at <= now())
      and exists (
        select from events e where e.tenant_id = c.tenant_id and (e.position, e.sequence) > (c.position, c.sequence)
          and e.position < h.position)
    order by c.served_at, c.tenant_id limit ${tenantsMax}`;
}

/** Where the tenant's rules have come to; no row for a tenant without rules. */
export function findTurn(tenantId: string, consumer: string) {
  return sql<JournalPosition>`
    select position, sequence from event_consumers where tenant_id = ${tenantId} and consumer = ${consumer}`;
}

/** Takes the tenant's turn until the end of the transaction, if nobody else has it, and moves it to the end of the line. */
export function lockTurn(tenantId: string, consumer: string) {
  return sql<TurnRow>`
    with free as (
      select tenant_id from event_consumers where tenant_id = ${tenantId} and consumer = ${consumer}
      for update skip locked
    )
    update event_consumers c set served_at = clock_timestamp()
    from free where c.tenant_id = free.tenant_id and c.consumer = ${consumer}
    returning c.position, c.sequence, c.failure_count, c.parked_event_id`;
}

/** Whether any rule of the tenant is enabled. */
export function hasEnabledRules(tenantId: string) {
  return sql<{ has: boolean }>`
    select exists (select from rules where tenant_id = ${tenantId} and status = 'enabled') as has`;
}

/** Takes the cursor away: a tenant without rules holds nothing back. Its row is locked. */
export function deleteCursor(tenantId: string, consumer: string) {
  return sql`delete from event_consumers where tenant_id = ${tenantId} and consumer = ${consumer}`;
}

/** Everything up to here is done. */
export function updateTurn(tenantId: string, consumer: string, { position, sequence }: JournalPosition) {
  return sql`
    update event_consumers
    set position = ${position}, sequence = ${sequence}, failure_count = 0, next_attempt_at = null, parked_at = null,
      parked_reason = null, parked_event_id = null, updated_at = clock_timestamp()
    where tenant_id = ${tenantId} and consumer = ${consumer}`;
}

/** The next event broke its evaluation: it is tried again after a wait. */
export function updateBrokenTurn(
  tenantId: string,
  consumer: string,
  broken: { failures: number; eventId: string; againSeconds: number },
) {
  return sql`
    update event_consumers
    set failure_count = ${broken.failures}, parked_event_id = ${broken.eventId}, parked_at = clock_timestamp(),
      parked_reason = 'the evaluation of a work rule broke', failures_total = failures_total + 1,
      next_attempt_at = clock_timestamp() + make_interval(secs => ${broken.againSeconds}::integer),
      updated_at = clock_timestamp()
    where tenant_id = ${tenantId} and consumer = ${consumer}`;
}

/** Enabled rules with these triggers, as `kind/type`. */
export function findEnabledRules(tenantId: string, triggers: readonly string[], rulesMax: number) {
  return sql<RuleRow>`
    select * from rules
    where tenant_id = ${tenantId} and status = 'enabled' and trigger_kind in ('event', 'observation')
      and trigger_kind || '/' || trigger_type = any (${triggers})
    order by id limit ${rulesMax}`;
}

/** The same rules as they are under a lock: a change of one waits until the turn is over. */
export function shareRules(tenantId: string, ids: readonly string[]) {
  return sql<RuleRow>`
    select * from rules where tenant_id = ${tenantId} and id = any (${ids}::uuid[]) and status = 'enabled'
    order by id for share`;
}

/** A rule as it is until the end of the transaction. */
export function shareRule(tenantId: string, id: string) {
  return sql<RuleRow>`select * from rules where id = ${id} and tenant_id = ${tenantId} for share`;
}

export type DueRuleRow = Pick<RuleRow, 'id' | 'tenant_id'> & { next_run_at: string };

export function findDueRules([nextRunAt, id]: QueuePosition, rowsMax: number) {
  return sql<DueRuleRow>`
    select id, tenant_id, next_run_at from rules
    where next_run_at is not null and next_run_at <= now()
      and (next_run_at, id) > (${nextRunAt}::timestamptz, ${id}::uuid)
    order by next_run_at, id limit ${rowsMax}`;
}

export function findRuleOfEvaluation(tenantId: string, id: string) {
  return sql<RuleRow>`select * from rules where id = ${id} and tenant_id = ${tenantId}`;
}

/** Takes a due moment of a schedule, and sets the next one that is not past: moments that were missed are not made up for. */
export function takeSlot(tenantId: string, ruleId: string, everySeconds: number) {
  return sql<{ slot_seconds: number }>`
    with due as (
      select id, next_run_at as slot from rules
      where id = ${ruleId} and tenant_id = ${tenantId} and status = 'enabled' and next_run_at <= clock_timestamp()
      for no key update skip locked
    )
    update rules r
    set next_run_at = due.slot + make_interval(secs => ${everySeconds}::integer *
      (1 + floor(extract(epoch from clock_timestamp() - due.slot) / ${everySeconds}::integer))::float8)
    from due where r.id = due.id
    returning floor(extract(epoch from due.slot))::bigint as slot_seconds`;
}
